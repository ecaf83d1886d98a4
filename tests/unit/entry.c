/*
 * Entries of the registry: what is read, what is refused, and whether it is the
 * same after it was written and read again.
 */
#include "registry/entry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "check.h"

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
	HEAD REST "cleanup 1 2 3 /a file\ncleanup 0 0 0 /b\n" COMMAND END,
	HEAD REST "later\nlater 2\nidentity 5\n" COMMAND "later\narg b\n" END,
};

static const struct {
	const char *text;
	int why;
} refused[] = {
	{ "", EINVAL },
	{ "\n", EINVAL },
	{ "wdrun", EINVAL },
	{ "wdrun \n", EINVAL },
	{ "wdrun x\n", EINVAL },
	{ "wdrun 2", EINVAL },
	{ "wdrun 1", EINVAL },
	{ "wdrun 1 \n" ID REST COMMAND END, EINVAL },
	{ "wdrun 2\nwhatever", ENOTSUP },
	{ "wdrun 11\n", ENOTSUP },
	{ VERSION, EINVAL },
	{ VERSION END, EINVAL },
	{ " " HEAD REST COMMAND END, EINVAL },
	{ HEAD REST COMMAND, EINVAL },
	{ HEAD REST COMMAND "end", EINVAL },
	{ HEAD REST COMMAND "end \n", EINVAL },
	{ HEAD REST COMMAND END "\n", EINVAL },
	{ HEAD REST COMMAND END COMMAND, EINVAL },
	{ HEAD REST END, EINVAL },
	{ VERSION REST COMMAND END, EINVAL },
	{ HEAD PEOPLE TIMES COMMAND END, EINVAL },
	{ HEAD PLACE TIMES COMMAND END, EINVAL },
	{ HEAD PLACE PEOPLE COMMAND END, EINVAL },
	{ HEAD ID REST COMMAND END, EINVAL },
	{ VERSION "id\n" REST COMMAND END, EINVAL },
	{ VERSION "id \n" REST COMMAND END, EINVAL },
	{ VERSION "id ../x\n" REST COMMAND END, EINVAL },
	{ VERSION "id 1-A\n" REST COMMAND END, EINVAL },
	{ HEAD "name \n" REST COMMAND END, EINVAL },
	{ HEAD "name a\nname b\n" REST COMMAND END, EINVAL },
	{ HEAD REST "arg\n" END, EINVAL },
	{ HEAD REST COMMAND "cut \n" END, EINVAL },
	{ HEAD REST COMMAND "cut\ncut\n" END, EINVAL },
	{ HEAD REST COMMAND "lock /l\n" COMMAND END, EINVAL },
	{ HEAD REST "arg \\\n" END, EINVAL },
	{ HEAD REST "arg \\n\n" END, EINVAL },
	{ HEAD REST "arg \\x\n" END, EINVAL },
	{ HEAD REST "arg \\x1\n" END, EINVAL },
	{ HEAD REST "arg \\x1G\n" END, EINVAL },
	{ HEAD REST "arg \\x1F\n" END, EINVAL },
	{ HEAD REST "arg \\x00\n" END, EINVAL },
	{ HEAD REST "arg \t\n" END, EINVAL },
	{ HEAD REST "arg \x7f\n" END, EINVAL },
	{ HEAD REST "cleanup 1 2 3\n" COMMAND END, EINVAL },
	{ HEAD REST "cleanup 1 2 3 \n" COMMAND END, EINVAL },
	{ HEAD REST "lock \n" COMMAND END, EINVAL },
	{ HEAD REST "lock l\n" COMMAND END, EINVAL },
	{ HEAD REST "cleanup 1 2 3 x\n" COMMAND END, EINVAL },
	{ HEAD REST "cleanup 1 2 /x\n" COMMAND END, EINVAL },
	{ HEAD REST "cleanup 1 2 9223372036854775808 /x\n" COMMAND END,
	  EINVAL },
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
	.cleanups = { 1,
	              { { .at.path = "/ three ",
	                  .before = { UINT64_MAX, 0, INT64_MAX } } } },
};

/*
 * Writes an entry with difficult values and COMMAND into TEXT, and reads it
 * into ENTRY.
 */
static bool
put_on_record(char *const command[], char text[ENTRY_TEXT_MAX],
              struct entry *entry)
{
	struct strbuf line = { .text = text, .size = ENTRY_TEXT_MAX };

	return entry_format(&line, &nasty, command) == 0 &&
	       line.length < ENTRY_TEXT_MAX &&
	       entry_parse(text, line.length, entry) == 0;
}

static void
check_round_trip(void)
{
	char *const command[] = { "sh", "", "-c", "a\nb\t\\ \x80", "", NULL };
	char text[ENTRY_TEXT_MAX];
	struct entry entry;

	CHECK(put_on_record(command, text, &entry), "round trip");
	CHECK(strcmp(entry.id, nasty.id) == 0, "round trip");
	CHECK(strcmp(entry.name, nasty.name) == 0, "round trip");
	CHECK(strcmp(entry.boot, nasty.boot) == 0, "round trip");
	CHECK(entry.pid_namespace == nasty.pid_namespace, "round trip");
	CHECK(entry.front.pid == 0, "round trip");
	CHECK(entry.supervisor.pid == nasty.supervisor.pid, "round trip");
	CHECK(entry.supervisor.start == UINT64_MAX, "round trip");
	CHECK(entry.target.pid == 1 && entry.target.start == 1, "round trip");
	CHECK(entry.has_session, "round trip");
	CHECK(entry.started == INT64_MAX - 1, "round trip");
	CHECK(entry.started_at == INT64_MAX, "round trip");
	CHECK(entry.timeout == NEVER, "round trip");
	CHECK(entry.kill_after == 0, "round trip");
	CHECK(strcmp(entry.directory, nasty.directory) == 0, "round trip");
	CHECK(entry.locks.count == 2, "round trip");
	CHECK(strcmp(entry.locks.paths[1], nasty.locks.paths[1]) == 0,
	      "round trip");
	CHECK(entry.cleanups.count == 1, "round trip");
	CHECK(strcmp(entry.cleanups.files[0].at.path, "/ three ") == 0,
	      "round trip");
	CHECK(entry.cleanups.files[0].before.birth == INT64_MAX, "round trip");
	CHECK(entry.command.count == 5 && !entry.command.is_cut, "round trip");

	const char *argument = entry.command.text;

	for (size_t i = 0; i < entry.command.count; i++) {
		CHECK(strcmp(argument, command[i]) == 0, command[i]);
		argument += strlen(argument) + 1;
	}
}

/* --- what is too long ----------------------------------------------------- */

static void
check_cut(void)
{
	char *const one_long[] = { "sh", long_argument, "last", NULL };
	char text[ENTRY_TEXT_MAX];
	struct entry entry;

	CHECK(put_on_record(one_long, text, &entry), "a long argument");
	CHECK(entry.command.is_cut && entry.command.count == 3,
	      "a long argument");
	CHECK(strlen(entry.command.text + 3) == ENTRY_ARGUMENT_MAX,
	      "a long argument");
	CHECK(strcmp(entry.command.text + 3 + ENTRY_ARGUMENT_MAX + 1, "last") ==
	          0,
	      "a long argument");

	char *many[10001] = { NULL };

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

static void
check_room(void)
{
	char *const command[] = { "a", "b", NULL };
	char text[ENTRY_TEXT_MAX];
	struct entry entry = nasty;

	/*
	 * The buffer shrinks byte by byte: first the command is cut, then
	 * nothing is written.
	 */
	for (size_t size = 600; size > 0; size--) {
		struct strbuf line = { .text = text, .size = size };
		struct entry again;

		errno = 0;
		if (entry_format(&line, &entry, command) == -1)
			CHECK(errno == EMSGSIZE, "little room");
		else
			CHECK(entry_parse(text, line.length, &again) == 0,
			      "little room");
		CHECK(line.length < size, "little room");
	}

	struct strbuf line = { .text = text, .size = sizeof(text) };

	entry.directory = long_path;
	CHECK(entry_format(&line, &entry, command) == -1, "a long path");
	CHECK(errno == EMSGSIZE, "a long path");
}

/* An entry with one byte more than an entry may have is refused. */
static void
check_limits(void)
{
	static char text[ENTRY_TEXT_MAX + 64];
	struct entry entry;
	int length = snprintf(text, sizeof(text), HEAD REST "arg %.*s\n" END,
	                      ENTRY_ARGUMENT_MAX, long_argument);

	CHECK(entry_parse(text, (size_t)length, &entry) == 0, "limits");
	length = snprintf(text, sizeof(text), HEAD REST "arg %.*s\n" END,
	                  ENTRY_ARGUMENT_MAX + 1, long_argument);
	CHECK(entry_parse(text, (size_t)length, &entry) == -1, "limits");
	length =
	    snprintf(text, sizeof(text), HEAD "name %.*s\n" REST COMMAND END,
	             255, long_argument);
	CHECK(entry_parse(text, (size_t)length, &entry) == 0, "limits");
	length =
	    snprintf(text, sizeof(text), HEAD "name %.*s\n" REST COMMAND END,
	             256, long_argument);
	CHECK(entry_parse(text, (size_t)length, &entry) == -1, "limits");
	length = snprintf(text, sizeof(text),
	                  HEAD "later %s\n" REST COMMAND END, long_path);
	CHECK(entry_parse(text, (size_t)length, &entry) == -1, "limits");
}

/* A NUL byte hides nothing, wherever it is. */
static void
check_nul(void)
{
	static const char whole[] = HEAD REST COMMAND END;

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		char text[sizeof(whole)];
		struct entry entry;

		memcpy(text, whole, sizeof(whole));
		text[i] = '\0';
		CHECK(entry_parse(text, sizeof(whole) - 1, &entry) == -1,
		      "a NUL byte");
	}
}

/* An entry that is cut off anywhere is not read as complete. */
static void
check_truncated(void)
{
	static const char whole[] = HEAD REST COMMAND END;

	for (size_t i = 0; i < sizeof(whole) - 1; i++) {
		char text[sizeof(whole)];
		struct entry entry;

		memcpy(text, whole, sizeof(whole));
		CHECK(entry_parse(text, i, &entry) == -1, "truncated");
	}
}

int
main(void)
{
	memset(long_argument, 'x', sizeof(long_argument) - 1);
	memset(long_path, 'x', sizeof(long_path) - 1);
	memset(control_argument, '\x01', sizeof(control_argument) - 1);

	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++)
		check_text(accepted[i], 0, accepted[i]);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		check_text(refused[i].text, refused[i].why, refused[i].text);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		check_number(i, numbers[i].good, 0);
		for (size_t j = 0;
		     j < sizeof(no_numbers) / sizeof(no_numbers[0]); j++)
			check_number(i, no_numbers[j], EINVAL);
	}
	check_round_trip();
	check_cut();
	check_room();
	check_limits();
	check_nul();
	check_truncated();
	return failures != 0;
}
