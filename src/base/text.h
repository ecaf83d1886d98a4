#pragma once

#include <stddef.h>
#include <stdint.h>

/* Numbers in text, and text in text: each function has a tenth of the size of
 * libc's function in the static binary. */

#define DECIMAL     10
#define HEXADECIMAL 16

/* Parses the digits of BASE, 10 or 16, at TEXT into *NUMBER; takes no blank,
 * sign or "0x", unlike strtoull(3). Returns the rest of TEXT; or NULL, with
 * *NUMBER 0, if there is no digit or the number is too large. */
const char *text_read_number(const char *text, unsigned base, uint64_t *number);

/* Returns the number of BASE at TEXT, or 0 where text_read_number() fails. */
uint64_t text_number(const char *text, unsigned base);

/* Like memmem(3), but slow if TEXT repeats the start of PART many times. LENGTH
 * is above 0. Returns where PART begins in TEXT, or NULL. */
const char *text_find(const char *text, size_t size, const char *part,
                      size_t length);
