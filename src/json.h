#ifndef WDRUN_JSON_H
#define WDRUN_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

/*
 * JSON (RFC 8259), appended to a line, which cuts off what it has no room for:
 * a byte of a string becomes six at most (JSON_GROWTH).
 */
#define JSON_GROWTH 6

/* Appends TEXT as a string, or null where it is NULL. A byte that is no UTF-8
 * becomes U+FFFD. */
void json_add_string(struct line *line, const char *text);

/* Append "KEY": and the value, behind a comma unless the object begins here. */
void json_add_key(struct line *line, const char *key);
void json_add_text(struct line *line, const char *key, const char *text);
void json_add_strings(struct line *line, const char *key, size_t count,
                      const char *const strings[]);
void json_add_number(struct line *line, const char *key, int64_t number);
void json_add_bool(struct line *line, const char *key, bool value);

/* The same for an item of an array: a comma unless the array begins here. */
void json_add_comma(struct line *line);

#endif
