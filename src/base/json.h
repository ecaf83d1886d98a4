#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* JSON (RFC 8259), appended to a struct strbuf. */

/* Appends TEXT as a string; null for NULL, U+FFFD for a byte that is no UTF-8.
 */
void json_add_string(struct strbuf *line, const char *text);

/* Append "KEY": and the value, after a comma unless the object begins here. */
void json_add_key(struct strbuf *line, const char *key);
void json_add_text(struct strbuf *line, const char *key, const char *text);
void json_add_strings(struct strbuf *line, const char *key, size_t count,
                      const char *const strings[]);
void json_add_number(struct strbuf *line, const char *key, int64_t number);
void json_add_bool(struct strbuf *line, const char *key, bool value);

/* Appends a comma before an item of an array, unless the array begins here. */
void json_add_comma(struct strbuf *line);
