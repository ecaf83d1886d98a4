/* Lengths of time: read, written, added, and the clock that they count on. */
#include "duration.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct unit {
	const char *suffix;
	int64_t ns;
};

static const struct unit UNITS[] = {
	{ "", SECOND },	      { "ms", MILLISECOND },  { "s", SECOND },
	{ "m", 60 * SECOND }, { "h", 3600 * SECOND }, { "d", 86400 * SECOND },
};

#define UNIT_COUNT	  (sizeof(UNITS) / sizeof(UNITS[0]))
#define UNIT_MILLISECONDS 1
#define UNIT_SECONDS	  2

static const struct unit *
find_unit(const char *suffix)
{
	for (size_t i = 0; i < UNIT_COUNT; i++) {
		if (strcmp(UNITS[i].suffix, suffix) == 0)
			return &UNITS[i];
	}
	return NULL;
}

/* DIGITS times UNIT, or NEVER if that is too large. */
static int64_t
read_whole(const char *digits, int64_t unit)
{
	int64_t value = 0;

	for (; isdigit((unsigned char)*digits); digits++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *digits - '0', &value))
			return NEVER;
	}
	return __builtin_mul_overflow(value, unit, &value) ? NEVER : value;
}

/* The DIGITS behind a point as a part of UNIT: rounded up, so that "0.0…1"
 * does not become zero, which for --timeout means "none". */
static int64_t
read_fraction(const char *digits, int64_t unit)
{
	int64_t value = 0;
	bool is_rounded = false;

	for (; isdigit((unsigned char)*digits); digits++) {
		const int64_t share = (*digits - '0') * unit;

		value += share / 10;
		is_rounded |= share % 10 != 0 || (unit == 0 && *digits != '0');
		unit /= 10;
	}
	return value + is_rounded;
}

int
duration_parse(const char *text, int64_t *ns)
{
	if (strcmp(text, "never") == 0) {
		*ns = NEVER;
		return 0;
	}

	const size_t whole = strspn(text, "0123456789");
	const bool has_point = text[whole] == '.';
	const char *const decimals = text + whole + has_point;
	const size_t fraction =
	    has_point ? strspn(decimals, "0123456789") : 0;
	const struct unit *const unit = find_unit(decimals + fraction);

	if (whole + fraction == 0 || unit == NULL) {
		errno = EINVAL;
		return -1;
	}

	*ns = read_whole(text, unit->ns);
	if (fraction > 0)
		*ns = duration_add(*ns, read_fraction(decimals, unit->ns));
	return 0;
}

char *
duration_format(int64_t ns, char text[DURATION_TEXT_SIZE])
{
	if (ns == NEVER) {
		(void)snprintf(text, DURATION_TEXT_SIZE, "never");
		return text;
	}

	/* The largest unit in which NS is a whole number, else seconds. */
	const struct unit *best = &UNITS[UNIT_SECONDS];

	for (size_t i = UNIT_MILLISECONDS; i < UNIT_COUNT; i++) {
		if (ns >= UNITS[i].ns && ns % UNITS[i].ns == 0)
			best = &UNITS[i];
	}

	const int64_t whole = ns / best->ns;
	const int64_t thousandths = ns % best->ns * 1000 / best->ns;

	if (thousandths == 0)
		(void)snprintf(text, DURATION_TEXT_SIZE, "%" PRId64 "%s", whole,
			       best->suffix);
	else
		(void)snprintf(text, DURATION_TEXT_SIZE,
			       "%" PRId64 ".%03" PRId64 "%s", whole,
			       thousandths, best->suffix);
	return text;
}

int64_t
duration_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

int64_t
duration_add(int64_t start, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(start, ns, &sum) ? NEVER : sum;
}
