#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* JSON (RFC 8259), appended to a struct strbuf. */

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
