/*
 * Any text as a duration: it is read as by arithmetic on paper, to the
 * nanosecond, or refused by both; and under the name timeout as strtold(3)
 * reads it.
 */
#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "stage.h"
#include "watchdog.h"

#define DIGITS_MAX 4096
#define UNTOUCHED  (-7)

/* The precision that doubles may lose; they count 300 powers of ten at most. */
#define PRECISION 1e-13L

static const struct {
	const char *suffix;
	int64_t ns;
} units[] = {
	{ "", SECOND },       { "s", SECOND },        { "ms", SECOND / 1000 },
	{ "m", 60 * SECOND }, { "h", 3600 * SECOND }, { "d", 86400 * SECOND },
	{ "sec", SECOND },    { "min", 60 * SECOND }, { "w", 604800 * SECOND },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the nanoseconds of one SUFFIX of LENGTH, or 0 where it is none. */
static int64_t
unit_of(const char *suffix, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].suffix) == length &&
		    strncmp(units[i].suffix, suffix, length) == 0)
			return units[i].ns;
	}
	return 0;
}

/*
 * Returns COUNT DIGITS, the last DECIMALS of which stand behind the point,
 * times UNIT, rounded up. As on paper: from the right, with a carry.
 */
static int64_t
multiply(const char *digits, size_t count, size_t decimals, int64_t unit)
{
	static char product[DIGITS_MAX + 32];
	const size_t places = count + 20; /* a unit has no more digits */
	int64_t carry = 0;
	bool has_rest = false;
	__int128 value = 0;

	for (size_t place = 0; place < places; place++) {
		if (place < count)
			carry += (digits[count - 1 - place] - '0') * unit;
		product[place] = (char)(carry % 10);
		carry /= 10;
	}
	for (size_t place = 0; place < decimals; place++)
		has_rest |= product[place] != 0;
	for (size_t place = places; place > decimals; place--) {
		value = value * 10 + product[place - 1];
		if (value > INT64_MAX)
			return NEVER;
	}
	value += has_rest;
	return value > INT64_MAX ? NEVER : (int64_t)value;
}

/* Returns the duration at *TEXT, which is left behind it, or -1. */
static int64_t
read_part(const char **text)
{
	static char digits[DIGITS_MAX];
	size_t count = 0;
	size_t decimals = 0;
	bool has_point = false;
	size_t length = 0;

	for (; isdigit((unsigned char)**text) || (**text == '.' && !has_point);
	     ++*text) {
		if (**text == '.') {
			has_point = true;
			continue;
		}
		digits[count++] = **text;
		decimals += has_point;
	}
	while ((*text)[length] >= 'a' && (*text)[length] <= 'z')
		length++;

	const int64_t unit = unit_of(*text, length);

	*text += length;
	if (count == 0 || unit == 0 || (length == 0 && **text != '\0'))
		return -1;
	return multiply(digits, count, decimals, unit);
}

/* Returns the duration TEXT, or -1. */
static int64_t
read_naively(const char *text)
{
	const char *const start = text;
	int64_t sum = 0;

	if (strcmp(text, "never") == 0 || strcmp(text, "infinity") == 0)
		return NEVER;
	do {
		const bool is_bare =
		    text != start && text[strspn(text, "0123456789.")] == '\0';
		const int64_t part = read_part(&text);

		if (part == -1 || is_bare)
			return -1;
		sum = part > NEVER - sum ? NEVER : sum + part;
	} while (*text != '\0');
	return sum;
}

static void
check(const char *text)
{
	const int64_t expected = read_naively(text);
	int64_t ns = UNTOUCHED;
	char written[DURATION_TEXT_SIZE];
	int64_t reread;

	errno = 0;
	if (expected == -1) {
		require(duration_parse(text, &ns) == -1);
		require(errno == EINVAL && ns == UNTOUCHED);
		return;
	}
	require(duration_parse(text, &ns) == 0);
	require(ns == expected);

	/*
	 * The written text has three decimals, so it is at most the duration,
	 * and less than a thousandth below it.
	 */
	require(duration_parse(duration_format(ns, written), &reread) == 0);
	require(reread <= ns);
	require(ns - reread < MILLISECOND);
	require(strlen(duration_format_short(ns, written)) <
	        DURATION_TEXT_SIZE);
}

/* Returns the nanoseconds of TEXT for timeout(1), or -1. */
static long double
read_as_timeout(const char *text)
{
	char *suffix;

	errno = 0;

	long double number = strtold(text, &suffix);

	const int64_t unit = strlen(suffix) > 1 || *suffix == 'w'
	                         ? 0
	                         : unit_of(suffix, strlen(suffix));

	if (suffix == text || isnan(number) || unit == 0)
		return -1;
	/* Too small for a long double counts as small. */
	if (number == 0 && errno == ERANGE)
		number = signbit(number) ? -LDBL_MIN : LDBL_MIN;
	return number < 0 ? -1 : number * (long double)unit;
}

static void
check_as_timeout(const char *text)
{
	char name[] = "timeout";
	char end[] = "--";
	char command[] = "true";
	char *argv[] = { name, end, (char *)text, command, NULL };
	struct options options;
	const long double expected = read_as_timeout(text);

	stage_open();

	const int status = options_read(&options, 4, argv);

	stage_close();
	if (expected < 0) {
		require(status == STATUS_FAILED && stage.said.writes == 1);
		return;
	}
	require(status == OPTIONS_ARE_COMPLETE && stage.said.writes == 0);

	const long double ns = (long double)options.timeout;

	if (expected == 0)
		require(options.timeout == NEVER);
	else if (options.timeout == NEVER)
		require(expected >= (long double)NEVER * (1 - PRECISION));
	else
		require(options.timeout >= 1 &&
		        fabsl(ns - expected) <= 1 + expected * PRECISION);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= DIGITS_MAX)
		return 0;

	/*
	 * On the heap, with exactly this size, so that a read beyond it is
	 * seen.
	 */
	char *const text = malloc(size + 1);

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check(text);
	check_as_timeout(text);
	free(text);
	return 0;
}
