#pragma once

#include <stddef.h>
#include <stdint.h>

/* Numbers in text, and text in text, each in a tenth of the size that libc's
 * functions have in the static binary. */

#define DECIMAL     10
#define HEXADECIMAL 16

/* Reads the digits to BASE at TEXT into *NUMBER: no blank, sign or "0x", which
 * strtoull(3) takes. Returns what follows them; or NULL, *NUMBER being 0, where
 * there is no digit or the number is too large. */
const char *text_read_number(const char *text, unsigned base, uint64_t *number);

/* The number to BASE at TEXT, or 0. */
uint64_t text_number(const char *text, unsigned base);

/* As memmem(3), which is fast for any text; this is for one that is short or
 * does not repeat itself. LENGTH is above 0. */
const char *text_find(const char *text, size_t size, const char *part,
                      size_t length);
