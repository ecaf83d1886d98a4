/* What strbuf_format writes is what snprintf(3) writes. */
#include "base/strbuf.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

/* Both format the same values. */
#define COMPARE(size, ...)                                                     \
	do {                                                                   \
		char ours[80];                                                 \
		char theirs[80];                                               \
		memset(ours, '#', sizeof(ours));                               \
		memset(theirs, '#', sizeof(theirs));                           \
		const size_t length = strbuf_format(ours, size, __VA_ARGS__);  \
		CHECK(length == (size_t)snprintf(theirs, size, __VA_ARGS__),   \
		      #__VA_ARGS__);                                           \
		CHECK(memcmp(ours, theirs, sizeof(ours)) == 0, #__VA_ARGS__);  \
	} while (0)

static void
compare_numbers(size_t size)
{
	COMPARE(size, "%d", 0);
	COMPARE(size, "%d %d %d", 1, -1, 42);
	COMPARE(size, "%d %d", INT_MAX, INT_MIN);
	COMPARE(size, "%u", UINT_MAX);
	COMPARE(size, "%ld %lu", LONG_MIN, ULONG_MAX);
	COMPARE(size, "%lld %llu", LLONG_MIN, ULLONG_MAX);
	COMPARE(size, "%" PRId64 "x%" PRIu64, INT64_MIN, UINT64_MAX);
	COMPARE(size, "%zu", SIZE_MAX);
	COMPARE(size, "%x %x %lx", 0U, 0xbeefU, ULONG_MAX);
	COMPARE(size, "%02d %02d %02d", 0, 7, 4711);
	COMPARE(size, "%04x %04x", 0x1fU, 0x12345U);
	COMPARE(size, "%5d|%-5d|%5d|%-5d|", 42, 42, -42, -42);
	COMPARE(size, "%*d|%-*d|", 7, 42, 7, 42);
}

static void
compare_strings(size_t size)
{
	static const char unended[] = { 'a', 'b', 'c' };

	COMPARE(size, "plain");
	COMPARE(size, "100%% of %s", "it");
	COMPARE(size, "%s%s", "", "x");
	COMPARE(size, "%.2s|%.0s|%.9s", "abc", "abc", "abc");
	COMPARE(size, "%.*s", (int)sizeof(unended), unended);
	COMPARE(size, "%.*s|", -1, "all of it");
	COMPARE(size, "%10s|%-10s|%-3s|", "right", "left", "longer");
	COMPARE(size, "%-26s %s\n", "--timeout=DUR", "stop it");
	COMPARE(size, "%c%c", 'x', 'y');
	COMPARE(size, "\377\001 %s", "\303\244");
}

/* A conversion that strbuf.h does not name is copied, with all that follows. */
static void
copy_unknown_conversions(void)
{
	static const char *const formats[] = { "%i %s", "%", "%5", "%-*q %d" };
	char text[80];

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		/* Not a literal, since the compiler would find the error. */
		const char *volatile const format = formats[i];

		CHECK(strbuf_format(text, sizeof(text), format, 1, 2) ==
		          strlen(format),
		      format);
		CHECK(strcmp(text, format) == 0, format);
	}
}

static void
check_growth(void)
{
	struct strbuf line = { .grows = true };
	struct strbuf fixed = { .text = (char[8]){ 0 }, .size = 8 };

	for (int i = 0; i < 1000; i++)
		strbuf_addf(&line, "%04d", i);
	CHECK(line.length == 4000 && !line.is_cut, "growth");
	CHECK(strncmp(line.text, "00000001", 8) == 0, "growth");
	CHECK(strcmp(line.text + 3996, "0999") == 0, "growth");
	strbuf_free(&line);

	strbuf_addf(&fixed, "%s", "1234567");
	CHECK(!fixed.is_cut && fixed.length == 7, "a full buffer");
	strbuf_addf(&fixed, "%s", "8");
	CHECK(fixed.is_cut && fixed.length == 7, "a full buffer");
	CHECK(strcmp(fixed.text, "1234567") == 0, "a full buffer");
}

int
main(void)
{
	static const size_t sizes[] = { 80, 0, 1, 2, 7, 12, 79 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		compare_numbers(sizes[i]);
		compare_strings(sizes[i]);
	}
	copy_unknown_conversions();
	check_growth();
	return failures;
}
