#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The part of printf(3) that wdrun needs, in a tenth of the size: libc's comes
 * with 12 KiB of floating point, wide characters and streams.
 *
 * FORMAT takes %d, %u, %x (with l, ll or z), %s, %c and %%, the flags - and 0,
 * a width, and for %s a precision; both sizes may be *. From any other
 * conversion on, FORMAT is copied: a typing error must not end a watcher.
 */

/* Like snprintf(3): writes at most SIZE bytes to TEXT, with a null byte.
 * Returns the length of the complete text, without the null byte.
 * Async-signal-safe. */
__attribute__((format(printf, 3, 4))) size_t
strbuf_format(char *text, size_t size, const char *format, ...);

/* Text in a buffer. What does not fit is cut off. */
struct strbuf {
	char *text;    /* null-terminated, after the first strbuf_addf() */
	size_t size;   /* of the buffer */
	size_t length; /* of the text, without the null byte */
	bool grows;  /* TEXT begins as NULL, SIZE as 0; ends by strbuf_free() */
	bool is_cut; /* text did not fit, or memory was missing */
};

/* Append to LINE. Async-signal-safe, unless LINE grows. */
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *line,
                                                       const char *format, ...);
__attribute__((format(printf, 2, 0))) void
strbuf_vaddf(struct strbuf *line, const char *format, va_list arguments);

/* Frees the text of LINE, which grows. Then LINE is empty and does not grow. */
void strbuf_free(struct strbuf *line);
