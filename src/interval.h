#ifndef WDRUN_INTERVAL_H
#define WDRUN_INTERVAL_H

#include <stdint.h>

/*
 * Reads TEXT as timeout(1) of coreutils does: a number as strtod(3) has it
 * ("1.5", "1e3", "0x10", "inf", but no NaN), and one of the suffixes s, m, h,
 * d. Puts into *NS the nanoseconds, rounded up, or NEVER for 0, which means
 * none, and for what is too long to be counted. Returns 0, or -1 with errno
 * EINVAL, *NS being left as it was.
 */
int interval_parse(const char *text, int64_t *ns);

#endif
