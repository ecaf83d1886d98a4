/* Lines of /proc/PID/stat with process names that could confuse a parser. */
#include "proc/procstat.h"

#include <errno.h>
#include <stdio.h>

#include "check.h"

/*
 * The fields up to the start time; from there to the exit signal; and from
 * there to the start of the environment.
 */
#define TO_START  " 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 777"
#define TO_SIGNAL " 1 2 18446744073709551615 4 5 6 7 8 9 10 11 12 13 14 15"
#define TO_ENV    " 17 0 1 2 3 4 5 6 7 8 9 10"
#define NUMBERS   TO_START TO_SIGNAL TO_ENV " 70 77 0\n"
#define NO_ENV    TO_START TO_SIGNAL TO_ENV " 70 70 0\n"
#define HIDDEN    TO_START TO_SIGNAL TO_ENV " 0 0 0\n"

static const char *const names[] = {
	"sh",       "",          ")",
	"(",        ") R 1 1 1", "a b",
	"a)\nb",    "((",        "))))))))))))))",
	"\xff\xfe", "1 (2) S 3",
};

static const char *const broken[] = {
	"",
	"1",
	"1 (sh",
	"1 (sh)",
	"1 (sh) ",
	"1 (sh) S",
	"1 (sh) S 7 8",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0",
	"1 (sh)  " NUMBERS,
	"1 (sh) S x" NUMBERS,
	"1 (sh) Sx" NUMBERS,
	"1 (sh) S " NUMBERS,
	"1 (sh) S" TO_START,
	"1 (sh) S" TO_START TO_SIGNAL,
	"1 (sh) S" TO_START TO_SIGNAL TO_ENV " 70 77",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 -",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 - 777" TO_SIGNAL
	    TO_ENV " 70 77 0",
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0 +777" TO_SIGNAL
	    TO_ENV " 70 77 0",
};

int
main(void)
{
	struct procstat stat;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "4711 (%s) S" NUMBERS,
		               names[i]);
		CHECK(procstat_parse(text, &stat) == 0, names[i]);
		CHECK(stat.state == 'S' && stat.parent == 7, names[i]);
		CHECK(stat.group == 8 && stat.session == 9, names[i]);
		CHECK(stat.terminal_group == 10, names[i]);
		CHECK(stat.cpu == 124 && stat.threads == 5, names[i]);
		CHECK(stat.start == 777, names[i]);
		CHECK(stat.exit_signal == 17, names[i]);
		CHECK(!stat.has_empty_environment, names[i]);
	}
	/* As much as a kernel can print is read, and nothing overflows. */
	CHECK(
	    procstat_parse("1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 "
	                   "9223372036854775807 9223372036854775807 3 "
	                   "18446744073709551615 20 0 5 0 777" TO_SIGNAL TO_ENV
	                   " 70 77 0\n",
	                   &stat) == 0,
	    "large numbers");
	CHECK(stat.cpu == 2 * (uint64_t)INT64_MAX + 2, "large numbers");
	CHECK(procstat_parse("1 (sh) S" NO_ENV, &stat) == 0, "no variable");
	CHECK(stat.has_empty_environment, "no variable");
	CHECK(procstat_parse("1 (sh) S" HIDDEN, &stat) == 0, "hidden");
	CHECK(!stat.has_empty_environment, "hidden");
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		errno = 0;
		CHECK(procstat_parse(broken[i], &stat) == -1, broken[i]);
		CHECK(errno == EINVAL, broken[i]);
	}
	return failures != 0;
}
