#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes the first UTF-8 character (RFC 3629) of the SIZE bytes at TEXT into
 * *CHARACTER. Returns its length in bytes, or 0 if TEXT is not UTF-8. */
size_t utf8_read(const char *text, size_t size, uint32_t *character);

/* Whether CHARACTER is none of these: a control character (C0, C1), a character
 * without width, a line separator, a change of text direction. */
bool utf8_is_printable(uint32_t character);

/* Returns the largest length, up to SIZE, to which the string TEXT can be cut
 * without cutting a character in two. TEXT need not be UTF-8. */
size_t utf8_fit(const char *text, size_t size);

/* Returns the length in bytes of the first WIDTH characters of the string TEXT,
 * and stores in *COUNT how many characters these are. Counts a column for each
 * character: wide and combining characters make a table uneven. */
size_t utf8_columns(const char *text, size_t width, size_t *count);

/* Replaces by '?' each of the SIZE bytes at TEXT that is not UTF-8 or belongs
 * to an unprintable character: a file name or an argument must not control the
 * reader's terminal. */
void utf8_make_printable(char *text, size_t size);
