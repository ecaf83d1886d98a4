/*
 * Entries of the registry: what is read, what is refused, what is unfinished,
 * and whether it is the same after it was written and read again, as the fuzz
 * target has it.
 */
#include "registry/entry.h"

#include "base/duration.h"
#include "check.h"
#include "replay.h"

#define HEAD   "wdrun 2\nhost m b 1\n"
#define TIMES  "until 6\nkill-after 7\n"
#define ARG    "arg a\n"
#define FRONT  "front 1 11\n"
#define WHOLE  HEAD TIMES ARG FRONT
#define TARGET "until 5\nsession 2\nsupervisor 2 22\n"

/* With newlines in the place of the null bytes. */
static const struct {
	const char *text;
	int result;
} rows[] = {
	{ WHOLE, 1 },
	{ WHOLE TARGET, 1 },
	{ HEAD TIMES "arg \n" FRONT, 1 },
	{ HEAD TIMES "name n\nfile 1 /l\nfile 2 /m\n" ARG FRONT, 1 },
	{ HEAD TIMES "name \xff\xfe\x80\n" ARG FRONT, 1 },
	{ WHOLE "file 3 /a file\nfile 0 /b\n" TARGET, 1 },
	{ HEAD "later\nlater 2\nidentity 5\n" TIMES ARG FRONT "later\n", 1 },
	{ WHOLE "until 5\nsession 2\nsupervisor 2 22", 1 }, /* no target */

	{ "", 0 },
	{ "wdrun 2\n", 0 },
	{ HEAD, 0 },
	{ HEAD TIMES ARG, 0 },
	{ HEAD TIMES ARG "front 1 11", 0 },

	{ "\n", -1 },
	{ "wdrun", -1 },
	{ "wdrun 2", -1 },
	{ "wdrun 1\n", -1 },
	{ "wdrun 22\n", -1 },
	{ " " WHOLE, -1 },
	{ HEAD TIMES FRONT, -1 },
	{ "wdrun 2\n" ARG FRONT, -1 },
	{ HEAD ARG "front -1 11\n", -1 },
};

static void
check_text(const char *text, int result)
{
	char copy[2048];
	struct entry entry;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (size_t i = 0; i < strlen(text); i++)
		if (copy[i] == '\n')
			copy[i] = '\0';
	CHECK(entry_parse(copy, strlen(text), &entry) == result, text);
}

/* No entry is read that is cut off anywhere; but the target's part may be
 * missing. */
static void
check_cut_off(void)
{
	char text[] = WHOLE;

	for (size_t i = strlen(WHOLE); i-- > strlen(HEAD);) {
		text[i] = '\0';
		check_text(text, 0);
	}
}

/* --- there and back ------------------------------------------------------- */

static char *const command[] = {
	"sh", "", "-c", "a\nb\t\\ \\n \x80", "", NULL
};

static const struct entry nasty = {
	.host = "machine boot 4026531836",
	.name = "a \\ name\nof\x7f \"two\" lines\x1b[0m \xff\xc3\xa9\\",
	.until = INT64_MAX - 1,
	.kill_after = NEVER,
	.file_count = 3,
	.files = { { .path = "/one", .before = CLEANUP_UNKNOWN },
	           { .path = "/ two \\n" },
	           { .path = "/ three\n", .before = 1 } },
	.command = { "sh", "", "-c", "a\nb\t\\ \\n \x80", "" },
	.front = { 2147483647, INT64_MAX },
	.supervisor = { 1, 1 },
	.session = 2147483647,
};

/* Writes an entry with difficult values and ARGUMENTS, and reads it into
 * ENTRY. */
static void
put_on_record(char *const arguments[], struct entry *entry)
{
	struct strbuf line = { .grows = true };
	struct entry target = nasty;

	target.file_count = 0; /* they are written already */
	entry_format(&line, &nasty, arguments);
	entry_format_target(&line, &target);
	CHECK(entry_parse(line.text, line.length, entry) == 1, "round trip");
}

/* Returns the word of ENTRY's command before the last. */
static const char *
before_last(const struct entry *entry)
{
	size_t count = 0;

	while (entry->command[count] != NULL)
		count++;
	return entry->command[count - 2];
}

static void
check_round_trips(void)
{
	static char long_argument[ENTRY_COMMAND_MAX];
	static char *many[ENTRY_WORDS + 2];
	static struct entry entry;

	put_on_record(command, &entry);
	replayed = "round trip";
	require_same_entries(&nasty, &entry);

	memset(long_argument, '\\', sizeof(long_argument) - 1);
	put_on_record((char *[]){ "sh", long_argument, "x", NULL }, &entry);
	CHECK(strcmp(entry.command[2], ENTRY_CUT) == 0, "a long argument");
	CHECK(entry.command[3] == NULL, "a long argument");
	CHECK(strlen(entry.command[1]) == ENTRY_COMMAND_MAX - 4,
	      "a long argument");
	put_on_record((char *[]){ long_argument, NULL }, &entry);
	CHECK(entry.command[1] == NULL, "as long as it may be");

	for (size_t i = 0; i < ENTRY_WORDS; i++)
		many[i] = "a";
	put_on_record(many, &entry);
	CHECK(entry.command[ENTRY_WORDS] == NULL, "many words");
	many[ENTRY_WORDS] = "a";
	put_on_record(many, &entry);
	CHECK(strcmp(entry.command[ENTRY_WORDS], ENTRY_CUT) == 0, "too many");
	CHECK(strcmp(before_last(&entry), "a") == 0, "too many words");
}

int
main(int argc, char *argv[])
{
	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(rows[i].text, rows[i].result);
	check_cut_off();
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/entry");
	check_round_trips();
	return failures != 0;
}
