#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many of the SIZE bytes at TEXT are the first character of UTF-8, as
 * RFC 3629 has it, which is stored in *CHARACTER; 0 where there is none. */
size_t utf8_read(const char *text, size_t size, uint32_t *character);

/* Whether CHARACTER drives no terminal (C0 and C1), can be seen, ends no line,
 * and does not turn the direction of the text behind it. */
bool utf8_is_printable(uint32_t character);

/* How many of the first SIZE bytes of the string TEXT to keep, so that no
 * character is cut in two. TEXT need not be UTF-8. */
size_t utf8_fit(const char *text, size_t size);

/* How many bytes the first WIDTH characters of the string TEXT take; *COUNT is
 * how many characters these are, if there are less. Each character counts as
 * one column, which is wrong for some scripts: tables of them are less even. */
size_t utf8_columns(const char *text, size_t width, size_t *count);

/* Puts a '?' for each byte of the SIZE at TEXT that is no UTF-8, or belongs to
 * a character that is not printable: a file name or an argument must not drive
 * the reader's terminal. */
void utf8_make_printable(char *text, size_t size);
