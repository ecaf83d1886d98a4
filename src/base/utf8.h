#pragma once

#include <stddef.h>

/* How many of the SIZE bytes at TEXT are the first character of UTF-8, as
 * RFC 3629 has it; 0 where they begin with none. */
size_t utf8_length(const char *text, size_t size);

/* How many of the first SIZE bytes of the string TEXT to keep, so that no
 * character is cut in two. TEXT need not be UTF-8. */
size_t utf8_fit(const char *text, size_t size);

/* How many bytes the first WIDTH characters of the string TEXT take; *COUNT is
 * how many characters these are, if there are less. Each character counts as
 * one column, which is wrong for some scripts: tables of them are less even. */
size_t utf8_columns(const char *text, size_t width, size_t *count);

/* Puts a '?' for each byte of the SIZE at TEXT that is no UTF-8, or belongs to
 * a control character, or to one that is not seen but changes what is: a file
 * name or an argument must not drive the reader's terminal. */
void utf8_make_printable(char *text, size_t size);
