#ifndef WDRUN_UTF8_H
#define WDRUN_UTF8_H

#include <stddef.h>

/* How many of the SIZE bytes from TEXT on are one character of UTF-8, as
 * RFC 3629 has it; 0 where they are none. */
size_t utf8_length(const char *text, size_t size);

/* Puts a '?' for each byte of the SIZE at TEXT that is no UTF-8, or is a
 * control character, or one that is not seen but changes what is: a file name
 * or an argument must not drive the reader's terminal. */
void utf8_make_printable(char *text, size_t size);

#endif
