/* Durations as text and as numbers; and the clocks. */
#include "base/duration.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel.h"

#define NUMBER   "0123456789."
#define MINUTE   (60 * SECOND)
#define TOO_LONG 0x1p63 /* nanoseconds */

static const struct unit {
	const char *suffix;
	int64_t ns;
} units[] = {
	/* the first four by size: duration_format() */
	{ "d", 86400 * SECOND },  { "h", 3600 * SECOND },
	{ "m", MINUTE },          { "s", SECOND },
	{ "", SECOND },           { "ms", MILLISECOND },
	{ "sec", SECOND },        { "min", MINUTE },
	{ "w", 604800 * SECOND }, { NULL, 0 },
};

int
duration_parse(const char *text, int64_t *ns)
{
	const char *at = text;
	int64_t sum = 0;

	if (strcmp(text, "never") == 0) {
		*ns = NEVER;
		return 0;
	}
	do {
		const struct unit *unit = units;
		char *end;

		errno = 0;

		const double number = strtod(at, &end);
		const size_t length = strcspn(end, NUMBER);

		while (unit->suffix != NULL &&
		       (strncmp(unit->suffix, end, length) != 0 ||
		        unit->suffix[length] != '\0'))
			unit++;
		/* In "1h30" the unit of 30 is unclear. A NaN is not >= 0. */
		if (end == at || !(number >= 0) || unit->suffix == NULL ||
		    (signbit(number) && errno == ERANGE) ||
		    (length == 0 && (at != text || *end != '\0')))
			return -1;

		double part = number * (double)unit->ns + 0.5;

		if (part < 1 && (number > 0 || errno == ERANGE))
			part = 1; /* 0 has another meaning */
		sum =
		    part >= TOO_LONG ? NEVER : duration_add(sum, (int64_t)part);
		at = end + length;
	} while (*at != '\0');
	*ns = sum;
	return 0;
}

char *
duration_format(int64_t ns, char text[DURATION_TEXT_SIZE])
{
	const struct unit *unit = units;
	const int64_t us = ns / 1000;
	const int64_t ms = ns / MILLISECOND;

	/* %g leaves out the zeros at the end of a fraction. */
	if (ns > 0 && us == 0) {
		(void)snprintf(text, DURATION_TEXT_SIZE, "%dns", (int)ns);
	} else if (ns > 0 && ns < SECOND) {
		(void)snprintf(text, DURATION_TEXT_SIZE, "%gms",
		               (double)us / 1000);
	} else if (ns < MINUTE) {
		(void)snprintf(text, DURATION_TEXT_SIZE, "%gs",
		               (double)ms / 1000);
	} else {
		while (ns < unit->ns)
			unit++;

		const long long rest = ns % unit->ns / unit[1].ns;

		(void)snprintf(text, DURATION_TEXT_SIZE,
		               rest == 0 ? "%lld%s" : "%lld%s%02lld%s",
		               (long long)(ns / unit->ns), unit->suffix, rest,
		               unit[1].suffix);
	}
	return text;
}

/* Not through the vDSO, whose page faults cost more than the few calls here:
 * that saves some 35 us a process. */
int64_t
duration_of_clock(clockid_t clock)
{
	struct kernel_time now = { .seconds = 0 };

	(void)syscall(CALL_CLOCK_GETTIME, clock, &now);
	return now.seconds * SECOND + now.nanoseconds;
}

int64_t
duration_now(void)
{
	return duration_of_clock(CLOCK_MONOTONIC);
}

unsigned
duration_stamp(void)
{
	return (unsigned)(duration_now() / MILLISECOND) | 1;
}

/* Takes the time last: another process may just have written STAMP. */
bool
duration_is_recent(unsigned stamp, unsigned ms)
{
	return stamp != 0 && duration_stamp() - stamp < ms;
}

void
duration_sleep(int64_t ns)
{
	(void)usleep((useconds_t)(ns / 1000));
}

int64_t
duration_add(int64_t start, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(start, ns, &sum) ? NEVER : sum;
}
