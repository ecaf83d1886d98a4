#ifndef WDRUN_TEXT_H
#define WDRUN_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/*
 * What wdrun needs of printf(3), in a tenth of its size: libc's cannot be had
 * without floating point, wide characters and streams, twelve kilobytes in all.
 *
 * FORMAT has %d, %u, %x (with l, ll or z), %s, %c and %%, with the flags - and
 * 0, a width, and for %s a precision, which may be *. Anything else ends the
 * process: it is an error of the program's own, which tests find.
 */

/* As snprintf(3): writes at most SIZE bytes to TEXT, the last of which is a
 * null byte; where SIZE is 0, none. Returns how many it would have taken
 * without that. Async-signal-safe. */
__attribute__((format(printf, 3, 4))) size_t
text_format(char *text, size_t size, const char *format, ...);
__attribute__((format(printf, 3, 0))) size_t
text_vformat(char *text, size_t size, const char *format, va_list arguments);

#endif
