/* Numbers in text, and text in text. */
#include "base/text.h"

#include <stdbool.h>
#include <string.h>

/* Returns the value of the digit BYTE, or HEXADECIMAL or more. */
static unsigned
value_of(char byte)
{
	const unsigned letter = (unsigned char)byte | ('a' ^ 'A');

	if (byte >= '0' && byte <= '9')
		return (unsigned)byte - '0';
	return letter - 'a' < HEXADECIMAL ? letter - 'a' + DECIMAL
	                                  : HEXADECIMAL;
}

const char *
text_read_number(const char *text, unsigned base, uint64_t *number)
{
	const char *end = text;
	bool is_too_large = false;

	*number = 0;
	for (; value_of(*end) < base; end++) {
		is_too_large |=
		    __builtin_mul_overflow(*number, base, number) ||
		    __builtin_add_overflow(*number, value_of(*end), number);
	}
	if (end > text && !is_too_large)
		return end;
	*number = 0;
	return NULL;
}

uint64_t
text_number(const char *text, unsigned base)
{
	uint64_t number;

	(void)text_read_number(text, base, &number);
	return number;
}

const char *
text_find(const char *text, size_t size, const char *part, size_t length)
{
	const char *const end = text + size;
	const char *at = text;

	while ((size_t)(end - at) >= length) {
		at = memchr(at, *part, (size_t)(end - at) - length + 1);
		if (at == NULL || memcmp(at, part, length) == 0)
			return at;
		at++;
	}
	return NULL;
}
