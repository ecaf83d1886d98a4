#pragma once

#include <stdint.h>

/* All time is int64_t nanoseconds of CLOCK_MONOTONIC. */
#define MILLISECOND INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define NEVER       INT64_MAX /* largest, so the next deadline is a minimum */

#define DURATION_TEXT_SIZE 32 /* for duration_format(), with the null byte */

/*
 * Parses TEXT ("250ms", "1.5", "1h30m", "never", "infinity") into *NS, in
 * nanoseconds. Units: ms, s or sec, m or min, h, d, w. A number without a unit
 * is in seconds, and must be the only number. As in timeout(1), a duration that
 * is too long becomes NEVER, and a fraction of a nanosecond is rounded up.
 * Returns 0; or -1 with errno EINVAL, with *NS unchanged.
 */
int duration_parse(const char *text, int64_t *ns);

/* Formats NS nanoseconds into TEXT for duration_parse(): "250ms", "1.5s",
 * "30m", "never". The unit is the largest, up to d, in which NS is a whole
 * number; else s or ms, with three decimals, cut. Returns TEXT. */
char *duration_format(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* Formats NS nanoseconds for tables, cut to two units: "12s", "5m03s", "2h14m",
 * "3d04h"; "-" for NEVER, "0s" for less than 0. Returns TEXT. */
char *duration_format_short(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* Returns the time of CLOCK_MONOTONIC, by system call. Cannot fail. */
int64_t duration_now(void);

/* The same by vdso(7), for many calls: mapping in the pages of the vDSO costs
 * more than a few system calls. */
int64_t duration_now_fast(void);

/* Returns the time of CLOCK_REALTIME: nanoseconds since the epoch. */
int64_t duration_since_epoch(void);

/* Sleeps for NS nanoseconds, or until a signal handler has run. */
void duration_sleep(int64_t ns);

/* Returns START + NS; or NEVER if either is NEVER or the sum overflows. */
int64_t duration_add(int64_t start, int64_t ns);
