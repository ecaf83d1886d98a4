#pragma once

#include <stdint.h>

/* All time is int64_t nanoseconds of CLOCK_MONOTONIC. */
#define MILLISECOND INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define NEVER       INT64_MAX /* so the next deadline is a plain minimum */

#define DURATION_TEXT_SIZE 32 /* holds what duration_format writes */

/*
 * Reads TEXT ("250ms", "1.5", "1h30m", "never") into *NS. Returns 0, or -1 with
 * errno EINVAL, and *NS stays. The units are ms, s or sec, m or min, h, d and
 * w; a number without a unit is in seconds, and stands alone. As in timeout(1),
 * what is too long is NEVER, and less than a nanosecond, but not zero, becomes
 * a nanosecond.
 */
int duration_parse(const char *text, int64_t *ns);

/* Writes NS into TEXT as an option takes it ("250ms", "1.5s", "30m", "never"):
 * in the largest unit in which it is a whole number, else in seconds or
 * milliseconds to three decimals. Returns TEXT. */
char *duration_format(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* Writes NS into TEXT rounded down to two units, for tables: "12s", "5m03s",
 * "2h14m", "3d04h"; "-" for NEVER, "0s" for less than 0. Returns TEXT. */
char *duration_format_short(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* The time now. Never fails: CLOCK_MONOTONIC exists on every Linux. */
int64_t duration_now(void);

/* The same by the vDSO, for a process that asks all the time: its pages cost
 * more than a few system calls. */
int64_t duration_now_fast(void);

/* The time of CLOCK_REALTIME, which counts from another moment. */
int64_t duration_since_epoch(void);

/* Sleeps for NS, or until a signal comes. */
void duration_sleep(int64_t ns);

/* START + NS, or NEVER where either is NEVER or the sum is too large. */
int64_t duration_add(int64_t start, int64_t ns);
