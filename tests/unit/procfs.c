/*
 * Lines of /proc/PID/stat that could confuse a parser. Any bytes as a line are
 * read within their bounds, or refused; and any bytes as the name in a line,
 * which a process chooses: the rest is read as it is.
 */
#include "proc/procfs.h"

#include <ctype.h>

#include "base/duration.h"
#include "check.h"

#define NAME_MAX_SIZE 64

static void
check_name(const char *name)
{
	char text[512];
	struct procstat stat;

	(void)snprintf(text, sizeof(text),
	               "7 (%.*s) Z 1 4194304 3 34816 -1 4194560 2 0 0 0 "
	               "1 2 3 4 20 -5 2 0 123456789 3653632 198 "
	               "18446744073709551615 1 1 0 0 0 0 0\n",
	               NAME_MAX_SIZE, name);
	assert(procstat_parse(text, &stat) == 0);
	assert(stat.state == 'Z');
	assert(stat.parent == 1);
	assert(stat.session == 3);
	assert(stat.cpu == 100 * MILLISECOND);
	assert(stat.start == 123456789);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = malloc(size + 1);
	struct procstat stat;

	assert(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check_name(text);
	assert(procstat_parse(text, &stat) == -1 ||
	       isalpha((unsigned char)stat.state));
	free(text);
	return 0;
}

#ifndef FUZZ
#define FIELDS " 7 8 9 0 10 4194304 1 2 3 4 100 20 3 1 20 0 5 0"
#define END    " 777 1 2 18446744073709551615\n"

static const char *const accepted[] = {
	"4711 (sh) S" FIELDS END,
	"4711 (1 (2) S 3) S" FIELDS END,
	"4711 (a)\nb) S" FIELDS END,
	/* As much as a kernel can print. */
	"1 (sh) S 7 8 9 0 10 4194304 1 2 3 4 9223372036854775807 "
	"9223372036854775807 3 18446744073709551615 20 0 5 0" END,
};

static const char *const refused[] = {
	"",
	"1 (sh)  " FIELDS END,
	"1 (sh) S x" FIELDS END,
	"1 (sh) Sx" FIELDS END,
	"1 (sh) S" FIELDS " -" END,
};

static const char *const names[] = {
	"",         ")",  "(",          ") R 1 1 1", "a b",
	"\xff\xfe", "((", "))))))))))", "a)\nb",     "1 (2) S 3",
};

int
main(void)
{
	struct procstat stat;
	char cut[] = "1 (sh) S" FIELDS " 777"; /* the number may go on */

	for (size_t i = 0; i < COUNT(accepted); i++)
		CHECK(procstat_parse(accepted[i], &stat) == 0, accepted[i]);
	CHECK(procstat_parse(accepted[0], &stat) == 0, "a line");
	CHECK(stat.state == 'S' && stat.parent == 7, "a line");
	CHECK(stat.start == 777 && stat.cpu == 1240 * MILLISECOND, "a line");
	for (size_t i = 0; i < COUNT(refused); i++)
		CHECK(procstat_parse(refused[i], &stat) == -1, refused[i]);
	for (size_t length = strlen(cut); length > 0; length--) {
		cut[length] = '\0';
		CHECK(procstat_parse(cut, &stat) == -1, cut);
	}
	for (size_t i = 0; i < COUNT(names); i++)
		check_name(names[i]);
	replay(LLVMFuzzerTestOneInput, "tests/fuzz/corpus/procfs/*");
	return failures != 0;
}
#endif
