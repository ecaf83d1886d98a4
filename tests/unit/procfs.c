/* Lines of /proc/PID/stat that could confuse a parser. */
#include "proc/procfs.h"

#include "base/duration.h"
#include "check.h"
#include "replay.h"

#define FIELDS " 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0"
#define END    " 777 1 2 18446744073709551615\n"

static const struct {
	const char *line;
	bool is_read;
} lines[] = {
	{ "4711 (sh) S" FIELDS END, true },
	{ "4711 (1 (2) S 3) S" FIELDS END, true },
	{ "4711 (a)\nb) S" FIELDS END, true },
	/* As much as a kernel can print. */
	{ "1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 9223372036854775807 "
	  "9223372036854775807 3 18446744073709551615 20 0 5 0" END,
	  true },
	{ "", false },
	{ "1", false },
	{ "1 (sh", false },
	{ "1 (sh)", false },
	{ "1 (sh) ", false },
	{ "1 (sh) S", false },
	{ "1 (sh) S 7 8", false },
	{ "1 (sh) S" FIELDS, false },
	{ "1 (sh) S" FIELDS " 777", false }, /* it may go on */
	{ "1 (sh)  " FIELDS END, false },
	{ "1 (sh) S x" FIELDS END, false },
	{ "1 (sh) Sx" FIELDS END, false },
	{ "1 (sh) S" FIELDS " -" END, false },
};

static const char *const names[] = {
	"",         ")",  "(",          ") R 1 1 1", "a b",
	"\xff\xfe", "((", "))))))))))", "a)\nb",     "1 (2) S 3",
};

static void
check_lines(void)
{
	struct procstat stat;

	CHECK(procstat_parse(lines[0].line, &stat) == 0, "a line");
	CHECK(stat.state == 'S' && stat.parent == 7, "a line");
	CHECK(stat.start == 777 && stat.cpu == 1240 * MILLISECOND, "a line");
	for (size_t i = 0; i < COUNT(lines); i++) {
		const char *const line = lines[i].line;

		CHECK((procstat_parse(line, &stat) == 0) == lines[i].is_read,
		      line);
		replay(line, line, strlen(line));
	}
	for (size_t i = 0; i < COUNT(names); i++)
		replay(names[i], names[i], strlen(names[i]));
}

int
main(int argc, char *argv[])
{
	check_lines();
	replay_corpus(argc > 1 ? argv[1] : "tests/fuzz/corpus/procfs");
	return failures != 0;
}
