#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What wdrun needs of printf(3), in a tenth of its size: libc's cannot be had
 * without floating point, wide characters and streams, twelve kilobytes in all.
 *
 * FORMAT has %d, %u, %x (with l, ll or z), %s, %c and %%, with the flags - and
 * 0, a width, and for %s a precision; both may be *. From any other conversion
 * on, FORMAT is copied as it stands: a typing error must not end a watcher.
 */

/* As snprintf(3): writes at most SIZE bytes to TEXT, the last of which is a
 * null byte; where SIZE is 0, none. Returns how many bytes the whole text would
 * have taken, without the null byte. Async-signal-safe. */
__attribute__((format(printf, 3, 4))) size_t
strbuf_format(char *text, size_t size, const char *format, ...);

/* Text that is put together in a buffer. What does not fit is cut off. */
struct strbuf {
	char *text;    /* always ends with a null byte, once it was added to */
	size_t size;   /* of the buffer */
	size_t length; /* of the text, without the null byte */
	bool grows;  /* TEXT begins as NULL, SIZE as 0; strbuf_free() ends it */
	bool is_cut; /* something did not fit, or there was no memory */
};

/* Append to LINE. Async-signal-safe, if LINE does not grow. */
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *line,
                                                       const char *format, ...);
__attribute__((format(printf, 2, 0))) void
strbuf_vaddf(struct strbuf *line, const char *format, va_list arguments);

/* Gives back the text of LINE, which grows. LINE is empty then. */
void strbuf_free(struct strbuf *line);
