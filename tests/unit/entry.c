/*
 * Entries of the registry: what is read, what is refused, what is unfinished,
 * and whether it is the same after it was written and read again, as the fuzz
 * target has it.
 */
#include "registry/entry.h"

#include <errno.h>

#include "base/duration.h"
#include "check.h"
#include "replay.h"

#define HEAD   "wdrun 2\nhost m b 1\nfront 1 11\n"
#define TIMES  "epoch 6\nwait 0\ntimeout never\nkill-after 7\n"
#define ARG    "arg a\n"
#define END    "written\n"
#define WHOLE  HEAD TIMES ARG END
#define TARGET "supervisor 2 22\nsession 2\nstarted 5\ntarget 3\n"

static const struct {
	const char *text;
	int why;
} rows[] = {
	{ WHOLE, 0 },
	{ WHOLE TARGET, 0 },
	{ HEAD TIMES "arg \n" END, 0 },
	{ HEAD TIMES "name n\ndirectory /\nlock /l\nlock /m\n" ARG "cut\n" END,
	  0 },
	{ HEAD TIMES "name \xff\xfe\x80\n" ARG END, 0 },
	{ WHOLE "cleanup 3 /a file\ncleanup 0 /b\n" TARGET, 0 },
	{ HEAD "later\nlater 2\nidentity 5\n" TIMES ARG END "later\n", 0 },
	{ WHOLE "supervisor 2 22\nsession 2\ntarget 3", 0 }, /* no target */

	{ "", ENODATA },
	{ "wdrun 2\n", ENODATA },
	{ HEAD, ENODATA },
	{ HEAD TIMES ARG, ENODATA },
	{ HEAD TIMES ARG "written", ENODATA },

	{ "\n", EINVAL },
	{ "wdrun", EINVAL },
	{ "wdrun 2", EINVAL },
	{ "wdrun 1\n", EINVAL },
	{ "wdrun 22\n", EINVAL },
	{ " " WHOLE, EINVAL },
	{ HEAD TIMES END, EINVAL },
	{ "wdrun 2\nfront 1 11\n" ARG END, EINVAL },
	{ "wdrun 2\nhost m b 1\n" ARG END, EINVAL },
	{ HEAD "arg \\\n" END, EINVAL },
	{ HEAD "arg \\x\n" END, EINVAL },
	{ HEAD "lock l\n" ARG END, EINVAL },
	{ HEAD "lock \n" ARG END, EINVAL },
	{ WHOLE "cleanup 3\n", EINVAL },
	{ WHOLE "cleanup 3 x\n", EINVAL },
	{ WHOLE "cleanup /x\n", EINVAL },
	{ WHOLE "cleanup 9223372036854775808 /x\n", EINVAL },
};

static const char *const no_numbers[] = {
	"",
	" ",
	"-1",
	"+1",
	"x",
	"1x",
	" 1",
	"0x10",
	"1e3",
	"Never",
	"99999999999999999999999",
	"2147483648 99999999999999999999999",
};

static void
check_text(const char *text, int why)
{
	char copy[2048];
	struct entry entry;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	errno = 0;
	CHECK(entry_parse(copy, &entry) == (why == 0 ? 0 : -1), text);
	CHECK(why == 0 || errno == why, text);
}

static void
check_numbers(void)
{
	static const char *const keys[] = { "front",   "epoch",  "timeout",
		                            "session", "target", "supervisor" };
	char text[2048];

	for (size_t i = 0; i < COUNT(keys); i++) {
		for (size_t j = 0; j < COUNT(no_numbers); j++) {
			(void)snprintf(text, sizeof(text), WHOLE "%s %s\n",
			               keys[i], no_numbers[j]);
			check_text(text, EINVAL);
		}
	}
	check_text(WHOLE "front 0 1\n", EINVAL);
	check_text(WHOLE "session 2147483648\n", EINVAL);
}

/* No entry is read that is cut off anywhere; but the target's part may be
 * missing. */
static void
check_cut_off(void)
{
	for (size_t i = 0; i < strlen(WHOLE); i++) {
		char text[] = WHOLE;
		struct entry entry;

		text[i] = '\0';
		CHECK(entry_parse(text, &entry) == -1, "truncated");
	}
}

/* --- there and back ------------------------------------------------------- */

static char *const command[] = {
	"sh", "", "-c", "a\nb\t\\ \\n \x80", "", NULL
};

static const struct entry nasty = {
	.host = "machine boot 4026531836",
	.front = { 2147483647, UINT64_MAX },
	.started_at = INT64_MAX - 1,
	.lock_wait = NEVER,
	.timeout = NEVER,
	.kill_after = 0,
	.name = "a \\ name\nof\x7f \"two\" lines\x1b[0m \xff\xc3\xa9\\",
	.directory = "/a b/\n",
	.lock_count = 2,
	.locks = { "/one", "/ two \\n" },
	.command = { "sh", "", "-c", "a\nb\t\\ \\n \x80", "" },
	.cleanup_count = 1,
	.cleanups = { { .path = "/ three ", .before = INT64_MAX } },
	.supervisor = { 1, 1 },
	.session = 1,
	.target_started_at = 1,
	.target = 2147483647,
};

/* Writes an entry with difficult values and ARGUMENTS, and reads it into
 * ENTRY. Returns its text. */
static char *
put_on_record(char *const arguments[], struct entry *entry)
{
	struct strbuf line = { .grows = true };

	entry_format(&line, &nasty, arguments);
	entry_format_target(&line, &nasty);
	CHECK(entry_parse(line.text, entry) == 0, "round trip");
	return line.text;
}

static void
check_round_trips(void)
{
	static char long_argument[ENTRY_COMMAND_MAX];
	static char *many[ENTRY_ARGUMENTS + 2];
	static struct entry entry;

	(void)put_on_record(command, &entry);
	replayed = "round trip";
	require_same_entries(&nasty, &entry);
	CHECK(!entry.is_cut, "round trip");

	memset(long_argument, '\\', sizeof(long_argument) - 1);
	(void)put_on_record((char *[]){ "sh", long_argument, "x", NULL },
	                    &entry);
	CHECK(entry.is_cut && entry.command[2] == NULL, "a long argument");
	CHECK(strlen(entry.command[1]) == ENTRY_COMMAND_MAX - 4,
	      "a long argument");
	(void)put_on_record((char *[]){ long_argument, NULL }, &entry);
	CHECK(!entry.is_cut, "as long as it may be");

	for (size_t i = 0; i < ENTRY_ARGUMENTS; i++)
		many[i] = "";
	(void)put_on_record(many, &entry);
	CHECK(!entry.is_cut, "many arguments");
	many[ENTRY_ARGUMENTS] = "";
	(void)put_on_record(many, &entry);
	CHECK(entry.is_cut && entry.command[ENTRY_ARGUMENTS - 1] != NULL,
	      "too many arguments");
}

int
main(int argc, char *argv[])
{
	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(rows[i].text, rows[i].why);
	check_numbers();
	check_cut_off();
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/entry");
	check_round_trips();
	return failures != 0;
}
