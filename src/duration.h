#ifndef WDRUN_DURATION_H
#define WDRUN_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* All time is int64_t nanoseconds of CLOCK_MONOTONIC. */
#define MILLISECOND INT64_C(1000000)
#define SECOND      INT64_C(1000000000)
#define NEVER       INT64_MAX /* so the next deadline is a plain minimum */

#define DURATION_TEXT_SIZE 32 /* holds what duration_format writes */

/*
 * Reads TEXT ("250ms", "1.5", "30m", "never") into *NS. Returns 0, or -1 with
 * errno EINVAL, *NS being left as it was. The suffixes are those of
 * timeout(1), and "ms"; seconds if bare. As in timeout(1), what is too long to
 * be counted is NEVER, and what is not zero does not become zero: less than a
 * nanosecond is one.
 */
int duration_parse(const char *text, int64_t *ns);

/*
 * Writes NS as it could be given to an option ("250ms", "1.5s", "30m",
 * "never") into TEXT: in the largest unit in which it is a whole number, else
 * in seconds or milliseconds to three decimals. Returns TEXT.
 */
char *duration_format(int64_t ns, char text[DURATION_TEXT_SIZE]);

/*
 * Writes NS as a reader takes it in at a glance: "12s", "5m03s", "2h14m",
 * "3d04h", and "-" for NEVER. What is smaller than shown is left out; less than
 * nothing is "0s". Returns TEXT.
 */
char *duration_format_short(int64_t ns, char text[DURATION_TEXT_SIZE]);

/* The time now. Never fails: CLOCK_MONOTONIC exists on every Linux. */
int64_t duration_now(void);

/* The same, for who asks all the time: by the vDSO, whose pages are no gain to
 * who asks a few times. */
int64_t duration_now_fast(void);

/* The same of CLOCK_REALTIME: not to be mixed with the above. */
int64_t duration_since_epoch(void);

/* START + NS, or NEVER where either is NEVER or the sum is too large. */
int64_t duration_add(int64_t start, int64_t ns);

#endif
