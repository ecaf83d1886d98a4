/*
 * Entries of the registry: what is read, what is refused, what is unfinished.
 * What is read is the same when it is written and read again: the fuzz target.
 */
#include "registry/registry.h"

#include "base/duration.h"
#include "check.h"
#include "replay.h"

#define HEAD   "wdrun 2\nhost m b 1\n"
#define ARG    "arg a\n"
#define FRONT  "front 1 11 6 7\n"
#define WHOLE  HEAD ARG FRONT
#define TARGET "target 2 22 2 5\n"

/* With newlines in the place of the null bytes. */
static const struct {
	const char *text;
	int result;
} rows[] = {
	{ WHOLE, 1 },
	{ WHOLE TARGET, 1 },
	{ HEAD "arg \n" FRONT, 1 },
	{ HEAD "name n\nfile 1 /l\nfile 2 /m\n" ARG FRONT, 1 },
	{ HEAD "name \xff\xfe\x80\n" ARG FRONT, 1 },
	{ WHOLE "file 3 /a file\nfile 0 /b\n" TARGET, 1 },
	{ HEAD "later\nlater 2\nidentity 5\n" ARG FRONT "later\n", 1 },
	{ WHOLE "target 2 22 2 5", 1 }, /* no target */

	{ "", 0 },
	{ "wdrun 2\n", 0 },
	{ HEAD, 0 },
	{ HEAD ARG, 0 },
	{ HEAD ARG "front 1 11 6 7", 0 },

	{ "\n", -1 },
	{ "wdrun", -1 },
	{ "wdrun 2", -1 },
	{ "wdrun 1\n", -1 },
	{ "wdrun 22\n", -1 },
	{ " " WHOLE, -1 },
	{ HEAD FRONT, -1 },
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

int
main(int argc, char *argv[])
{
	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(rows[i].text, rows[i].result);
	check_cut_off();
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/entry");
	return failures != 0;
}
