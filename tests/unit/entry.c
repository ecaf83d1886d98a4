/*
 * Entries of the registry: what is read, what is refused, and whether it is the
 * same after it was written and read again, as the fuzz target has it.
 */
#include "registry/entry.h"

#include <errno.h>

#include "base/duration.h"
#include "check.h"
#include "replay.h"

/* An entry without the lines that a row is about. */
#define VERSION "wdrun 1\n"
#define ID      "id 4711-18a0\n"
#define HEAD    VERSION ID
#define PLACE   "boot b\npidns 4026531836\n"
#define PEOPLE  "front 1 11\nsupervisor 2 22\ntarget 3 33\nsession own\n"
#define TIMES   "started 5\nepoch 6\ntimeout never\nkill-after 7\n"
#define COMMAND "arg a\n"
#define REST    PLACE PEOPLE TIMES
#define END     "end\n"

static const char *const accepted[] = {
	HEAD REST COMMAND END,
	HEAD REST COMMAND "cut\n" END,
	HEAD REST "arg \n" END,
	HEAD "name n\n" REST "directory /\nlock /l\nlock /m\n" COMMAND END,
	HEAD "name \xff\xfe\x80\n" REST COMMAND END,
	HEAD REST "cleanup 3 /a file\ncleanup 0 /b\n" COMMAND END,
	HEAD REST "later\nlater 2\nidentity 5\n" COMMAND "later\narg b\n" END,
};

static const char *const refused[] = {
	"",
	"\n",
	"wdrun",
	"wdrun \n",
	"wdrun x\n",
	"wdrun 2",
	"wdrun 1",
	"wdrun 1 \n" ID REST COMMAND END,
	VERSION,
	VERSION END,
	" " HEAD REST COMMAND END,
	HEAD REST COMMAND,
	HEAD REST COMMAND "end",
	HEAD REST COMMAND "end \n",
	HEAD REST COMMAND END "\n",
	HEAD REST COMMAND END COMMAND,
	HEAD REST END,
	VERSION REST COMMAND END,
	HEAD PEOPLE TIMES COMMAND END,
	HEAD PLACE TIMES COMMAND END,
	HEAD PLACE PEOPLE COMMAND END,
	HEAD ID REST COMMAND END,
	VERSION "id\n" REST COMMAND END,
	VERSION "id \n" REST COMMAND END,
	VERSION "id ../x\n" REST COMMAND END,
	VERSION "id 1-A\n" REST COMMAND END,
	HEAD "name \n" REST COMMAND END,
	HEAD "name a\nname b\n" REST COMMAND END,
	HEAD REST "arg\n" END,
	HEAD REST COMMAND "cut \n" END,
	HEAD REST COMMAND "cut\ncut\n" END,
	HEAD REST COMMAND "lock /l\n" COMMAND END,
	HEAD REST "arg \\\n" END,
	HEAD REST "arg \\n\n" END,
	HEAD REST "arg \\x\n" END,
	HEAD REST "arg \\x1\n" END,
	HEAD REST "arg \\x1G\n" END,
	HEAD REST "arg \\x1F\n" END,
	HEAD REST "arg \\x00\n" END,
	HEAD REST "arg \t\n" END,
	HEAD REST "arg \x7f\n" END,
	HEAD REST "cleanup 3\n" COMMAND END,
	HEAD REST "cleanup 3 \n" COMMAND END,
	HEAD REST "lock \n" COMMAND END,
	HEAD REST "lock l\n" COMMAND END,
	HEAD REST "cleanup 3 x\n" COMMAND END,
	HEAD REST "cleanup /x\n" COMMAND END,
	HEAD REST "cleanup 9223372036854775808 /x\n" COMMAND END,
};

static const char *const of_another_version[] = {
	"wdrun 2\nwhatever",
	"wdrun 11\n",
};

/* Where a number may stand, and texts there that are no number. */
static const struct {
	const char *before;
	const char *after;
	const char *good;
} numbers[] = {
	{ HEAD "boot b\npidns ", "\n" PEOPLE TIMES COMMAND END, "7" },
	{ HEAD PLACE "front 1 11\nsupervisor 2 22\nsession own\ntarget 3 ",
	  "\n" TIMES COMMAND END, "7" },
	{ HEAD PLACE "supervisor 2 22\ntarget 3 33\nsession own\nfront ",
	  "\n" TIMES COMMAND END, "0 7" },
	{ HEAD PLACE "front 1 11\ntarget 3 33\nsession own\nsupervisor ",
	  "\n" TIMES COMMAND END, "7 7" },
	{ HEAD PLACE PEOPLE "epoch 6\ntimeout 0\nkill-after 7\nstarted ",
	  "\n" COMMAND END, "7" },
	{ HEAD PLACE PEOPLE "epoch 6\nstarted 0\nkill-after 7\ntimeout ",
	  "\n" COMMAND END, "never" },
};

static const char *const no_numbers[] = {
	"",
	" ",
	"-1",
	"+1",
	"x",
	"1x",
	" 1",
	"1 ",
	"0x10",
	"1 -1",
	"-1 1",
	"1 2 3",
	"1  2",
	"1e3",
	"Never",
	"99999999999999999999999",
	"2147483648 99999999999999999999999",
};

static void
check_text(const char *text, int why, const char *name)
{
	char copy[2048];
	struct entry entry;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	errno = 0;
	CHECK(entry_parse(copy, strlen(text), &entry) == (why == 0 ? 0 : -1),
	      name);
	CHECK(errno == why, name);
}

static void
check_number(size_t row, const char *number, int why)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "%s%s%s", numbers[row].before,
	               number, numbers[row].after);
	check_text(text, why, text);
}

/* --- there and back ------------------------------------------------------- */

static char long_argument[ENTRY_COMMAND_MAX];
static char control_argument[ENTRY_ARGUMENT_MAX + 1];
static char long_path[ENTRY_TEXT_MAX];

static char words[] = "sh\0\0-c\0a\nb\t\\ \x80\0";
static char *const command[] = { words,     words + 3,  words + 4,
	                         words + 7, words + 15, NULL };

static const struct entry nasty = {
	.id = "4711-18a0c5d2f3b1e2c4",
	.name = "a \\ name\nof\x7f \"two\" lines\x1b[0m \xff\xc3\xa9",
	.boot = "5b8a0c1e-7a53-4a4e-8f0e-2f6f3a9f7c11",
	.pid_namespace = UINT64_MAX,
	.front = { 0, 0 },
	.supervisor = { 2147483647, UINT64_MAX },
	.target = { 1, 1 },
	.has_session = true,
	.started = INT64_MAX - 1,
	.started_at = INT64_MAX,
	.timeout = NEVER,
	.kill_after = 0,
	.directory = "/a b/\n",
	.locks = { 2, { "/one", "/ two \\x0a" } },
	.cleanups = { 1, { { .path = "/ three ", .before = INT64_MAX } } },
	.command = { words, sizeof(words), 5, false },
};

/*
 * Writes an entry with difficult values and ARGUMENTS into TEXT, and reads it
 * into ENTRY.
 */
static bool
put_on_record(char *const arguments[], char text[ENTRY_TEXT_MAX],
              struct entry *entry)
{
	struct strbuf line = { .text = text, .size = ENTRY_TEXT_MAX };

	return entry_format(&line, &nasty, arguments) == 0 &&
	       line.length < ENTRY_TEXT_MAX &&
	       entry_parse(text, line.length, entry) == 0;
}

static void
check_round_trip(void)
{
	char text[ENTRY_TEXT_MAX];
	struct entry entry;

	CHECK(put_on_record(command, text, &entry), "round trip");
	replayed = "round trip";
	require_same_entries(&nasty, &entry);
}

/* --- what is too long ----------------------------------------------------- */

static void
check_cut(void)
{
	char *const one_long[] = { "sh", long_argument, "last", NULL };
	char *many[10001] = { NULL };
	char text[ENTRY_TEXT_MAX];
	struct entry entry;

	CHECK(put_on_record(one_long, text, &entry), "a long argument");
	CHECK(entry.command.is_cut && entry.command.count == 3,
	      "a long argument");
	CHECK(strlen(entry.command.text + 3) == ENTRY_ARGUMENT_MAX,
	      "a long argument");
	for (size_t i = 0; i < 10000; i++)
		many[i] = "";
	CHECK(put_on_record(many, text, &entry), "many arguments");
	CHECK(entry.command.is_cut && entry.command.count > 5000,
	      "many arguments");
	for (size_t i = 0; i < 10000; i++)
		many[i] = control_argument;
	CHECK(put_on_record(many, text, &entry), "control characters");
	CHECK(entry.command.is_cut && entry.command.count == 8,
	      "control characters");
}

/* First the command is cut, then nothing is written. */
static void
check_room(void)
{
	char text[ENTRY_TEXT_MAX];
	struct entry entry = nasty;
	struct strbuf line = { .text = text, .size = sizeof(text) };

	for (size_t size = 600; size > 0; size--) {
		struct strbuf small = { .text = text, .size = size };
		struct entry again;

		errno = 0;
		if (entry_format(&small, &entry, command) == -1)
			CHECK(errno == EMSGSIZE, "little room");
		else
			CHECK(entry_parse(text, small.length, &again) == 0,
			      "little room");
		CHECK(small.length < size, "little room");
	}
	entry.directory = long_path;
	CHECK(entry_format(&line, &entry, command) == -1, "a long path");
	CHECK(errno == EMSGSIZE, "a long path");
}

/* HEAD, a line KEY with LENGTH bytes of value, and the rest. */
static int
parse_long(const char *key, int length, const char *rest)
{
	static char text[2 * ENTRY_TEXT_MAX];
	struct entry entry;
	const int size = snprintf(text, sizeof(text), HEAD "%s %.*s\n%s", key,
	                          length, long_path, rest);

	return entry_parse(text, (size_t)size, &entry);
}

/* An entry with one byte more than an entry may have is refused. */
static void
check_limits(void)
{
	CHECK(parse_long("name", 255, REST COMMAND END) == 0, "name");
	CHECK(parse_long("name", 256, REST COMMAND END) == -1, "name");
	CHECK(parse_long(REST "arg", ENTRY_ARGUMENT_MAX, END) == 0, "arg");
	CHECK(parse_long(REST "arg", ENTRY_ARGUMENT_MAX + 1, END) == -1, "arg");
	CHECK(parse_long("later", ENTRY_TEXT_MAX, REST COMMAND END) == -1,
	      "a long line");
}

/* No entry is read that is cut off anywhere, or has a NUL byte. */
static void
check_damaged(void)
{
	static const char whole[] = HEAD REST COMMAND END;

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		char text[sizeof(whole)];
		struct entry entry;

		memcpy(text, whole, sizeof(whole));
		CHECK(entry_parse(text, i, &entry) == -1, "truncated");
		memcpy(text, whole, sizeof(whole));
		text[i] = '\0';
		CHECK(entry_parse(text, sizeof(whole) - 1, &entry) == -1,
		      "a NUL byte");
	}
}

int
main(int argc, char *argv[])
{
	memset(long_argument, 'x', sizeof(long_argument) - 1);
	memset(long_path, 'x', sizeof(long_path) - 1);
	memset(control_argument, '\x01', sizeof(control_argument) - 1);

	for (size_t i = 0; i < COUNT(accepted); i++)
		check_text(accepted[i], 0, accepted[i]);
	for (size_t i = 0; i < COUNT(refused); i++)
		check_text(refused[i], EINVAL, refused[i]);
	for (size_t i = 0; i < COUNT(of_another_version); i++)
		check_text(of_another_version[i], ENOTSUP,
		           of_another_version[i]);
	for (size_t i = 0; i < COUNT(numbers); i++) {
		check_number(i, numbers[i].good, 0);
		for (size_t j = 0; j < COUNT(no_numbers); j++)
			check_number(i, no_numbers[j], EINVAL);
	}
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/entry");
	check_round_trip();
	check_cut();
	check_room();
	check_limits();
	check_damaged();
	return failures != 0;
}
