/*
 * Lines of /proc/PID/stat that could confuse a parser: each is read as the fuzz
 * target reads it, or refused by both.
 */
#include "proc/procstat.h"

#include "check.h"
#include "replay.h"

/*
 * The fields up to the start time; from there to the exit signal; and from
 * there to the start of the environment.
 */
#define TO_START  " 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 777"
#define TO_SIGNAL " 1 2 18446744073709551615 4 5 6 7 8 9 10 11 12 13 14 15"
#define TO_ENV    " 17 0 1 2 3 4 5 6 7 8 9 10"
#define END       TO_SIGNAL TO_ENV " 70 77 0\n"

static const char *const lines[] = {
	"4711 (sh) S" TO_START END,
	"4711 (1 (2) S 3) S" TO_START END,
	"4711 (a)\nb) S" TO_START END,
	"1 (no variable) S" TO_START TO_SIGNAL TO_ENV " 70 70 0\n",
	"1 (hidden) S" TO_START TO_SIGNAL TO_ENV " 0 0 0\n",
	/* As much as a kernel can print is read, and nothing overflows. */
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 9223372036854775807 "
	"9223372036854775807 3 18446744073709551615 20 0 5 0 777" END,
	"",
	"1",
	"1 (sh",
	"1 (sh)",
	"1 (sh) ",
	"1 (sh) S",
	"1 (sh) S 7 8",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0",
	"1 (sh)  " TO_START END,
	"1 (sh) S x" TO_START END,
	"1 (sh) Sx" TO_START END,
	"1 (sh) S " TO_START END,
	"1 (sh) S" TO_START,
	"1 (sh) S" TO_START TO_SIGNAL,
	"1 (sh) S" TO_START TO_SIGNAL TO_ENV " 70 77",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 -",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 - 777" END,
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 +777" END,
};

static const char *const names[] = {
	"",         ")",  "(",          ") R 1 1 1", "a b",
	"\xff\xfe", "((", "))))))))))", "a)\nb",     "1 (2) S 3",
};

int
main(int argc, char *argv[])
{
	struct procstat stat;

	CHECK(procstat_parse(lines[0], &stat) == 0, lines[0]);
	CHECK(stat.state == 'S' && stat.parent == 7, lines[0]);
	CHECK(stat.start == 777 && stat.cpu == 124, lines[0]);
	CHECK(stat.exit_signal == 17, lines[0]);
	for (size_t i = 0; i < COUNT(lines); i++)
		replay(lines[i], lines[i], strlen(lines[i]));
	for (size_t i = 0; i < COUNT(names); i++)
		replay(names[i], names[i], strlen(names[i]));
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/procfs");
	return failures != 0;
}
