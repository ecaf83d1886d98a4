#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- text in a buffer ----------------------------------------------------- */

/* What does not fit is cut off. */
struct strbuf {
	char *text;    /* null-terminated, after the first strbuf_addf() */
	size_t size;   /* of the buffer */
	size_t length; /* of the text, without the null byte */
	bool grows;    /* TEXT begins as NULL, SIZE as 0: from malloc(3) */
	bool is_cut;   /* text did not fit, or memory was missing */
};

/* Append to LINE, like printf(3). */
__attribute__((format(printf, 2, 3))) void strbuf_addf(struct strbuf *line,
                                                       const char *format, ...);
__attribute__((format(printf, 2, 0))) void
strbuf_vaddf(struct strbuf *line, const char *format, va_list arguments);

/* Frees the text of LINE, which grows. Then LINE is empty and does not grow. */
void strbuf_free(struct strbuf *line);

/* Like snprintf(3). Returns the length of the complete text. */
__attribute__((format(printf, 3, 4))) size_t
strbuf_format(char *text, size_t size, const char *format, ...);

/* --- numbers and parts ---------------------------------------------------- */

#define DECIMAL     10
#define HEXADECIMAL 16

/* Parses the digits of BASE, 10 or 16, at TEXT into *NUMBER; takes no blank,
 * sign or "0x", unlike strtoull(3). Returns the rest of TEXT; or NULL, with
 * *NUMBER 0, if there is no digit or the number is too large. Keeps errno. */
const char *text_read_number(const char *text, unsigned base, uint64_t *number);

/* Returns the number of BASE at TEXT, or 0 where text_read_number() fails. */
uint64_t text_number(const char *text, unsigned base);

/* Until the last caller has memmem(3) itself. */
#define text_find memmem

/* --- UTF-8 in text from other programs, which may be anything ------------- */

/* Returns the largest length, up to SIZE, to which the string TEXT can be cut
 * without cutting a character in two. TEXT need not be UTF-8. */
size_t utf8_fit(const char *text, size_t size);

/* The same for the columns of a table, which count bytes, with the result also
 * in *COUNT. */
size_t utf8_columns(const char *text, size_t width, size_t *count);

/* Replaces by '?' each of the SIZE bytes at TEXT that is not UTF-8 or belongs
 * to a control character (C0, DEL, C1): a file name or an argument must not
 * control the reader's terminal. */
void utf8_make_printable(char *text, size_t size);

/* --- JSON (RFC 8259) ------------------------------------------------------ */

/* Appends TEXT as a string, NULL as null, an invalid byte as U+FFFD. */
void json_add_string(struct strbuf *line, const char *text);

/* Append "KEY": and the value, after a comma unless the object begins here. */
void json_add_key(struct strbuf *line, const char *key);
void json_add_text(struct strbuf *line, const char *key, const char *text);
void json_add_strings(struct strbuf *line, const char *key, size_t count,
                      const char *const strings[]);
void json_add_number(struct strbuf *line, const char *key, int64_t number);
void json_add_bool(struct strbuf *line, const char *key, bool value);

/* Appends a comma, unless LINE is empty or ends with '{' or '['. */
void json_add_comma(struct strbuf *line);
