#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text in a buffer. What does not fit is cut off. */
struct strbuf {
	char *text;    /* null-terminated, after the first strbuf_addf() */
	size_t size;   /* of the buffer */
	size_t length; /* of the text, without the null byte */
	bool grows;    /* TEXT begins as NULL, SIZE as 0; free(3) TEXT */
	bool is_cut;   /* text did not fit, or memory was missing */
};

/* Appends to LINE, like printf(3). */
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *line,
                                                       const char *format, ...);

/* Replaces by '?' each byte of TEXT, another program's, that is not UTF-8 or of
 * a control character (C0, DEL, C1): it must not control the terminal. */
void utf8_make_printable(char *text);

/* --- JSON (RFC 8259) ------------------------------------------------------ */

/* Appends a comma, unless LINE is empty or ends with '{', '[' or ':'. */
void json_add_comma(struct strbuf *line);

/* Appends, after a comma if need be, TEXT as a string, with U+FFFD for a byte
 * that is not UTF-8 or of a C1 control character; or null for NULL. */
void json_add_string(struct strbuf *line, const char *text);

#define JSON_NULL INT64_MIN /* a NUMBER that is not known */

/* Append "KEY": and a value, after a comma if need be. A NULL ends STRINGS. */
void json_add_key(struct strbuf *line, const char *key);
void json_add_text(struct strbuf *line, const char *key, const char *text);
void json_add_strings(struct strbuf *line, const char *key,
                      const char *const strings[]);
void json_add_number(struct strbuf *line, const char *key, int64_t number);
