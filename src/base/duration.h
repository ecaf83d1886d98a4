#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* All times are in ns, and of CLOCK_MONOTONIC, unless "since the epoch". */
#define MILLISECOND INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define NEVER       INT64_MAX /* largest, so the next deadline is a minimum */

#define DURATION_TEXT_SIZE 32 /* for duration_format(), with the null byte */

/* Parses TEXT ("250ms", "1.5", "1h30m", "never") into *NS: numbers as strtod(3)
 * reads them ("1e3", "infinity"), each with a unit: ms, s or sec, m or min, h,
 * d, w; or one number alone, in seconds. A time that is too long gives NEVER,
 * one between 0 and 1 ns gives 1. Returns 0 or -1. */
int duration_parse(const char *text, int64_t *ns);

/* Formats NS, at least 0, into TEXT: "1ns", "250ms", "1.5s"; from a minute on
 * in two units, cut: "30m", "5m03s", "2h14m". Returns TEXT. */
char *duration_format(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* Return the time of CLOCK, and of CLOCK_MONOTONIC. Cannot fail. */
int64_t duration_of_clock(clockid_t clock);
int64_t duration_now(void);

/* Returns the time of CLOCK_MONOTONIC in ms, of which 32 bits are atomic on any
 * machine: they wrap. Never 0, which stands for no time. */
unsigned duration_stamp(void);

/* Whether the STAMP of a duration_stamp() is no older than MS milliseconds. */
bool duration_is_recent(unsigned stamp, unsigned ms);

/* Sleeps for NS nanoseconds, cut to microseconds. */
void duration_sleep(int64_t ns);

/* Returns START + NS, but NEVER at most: so NEVER and a time give NEVER. */
int64_t duration_add(int64_t start, int64_t ns);
