/* UTF-8 in text from other programs, which may be anything. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#define LENGTH_MAX 4

/* The first character of each length in bytes; at the end, the end of Unicode:
 * RFC 3629, section 3. */
static const uint32_t firsts[LENGTH_MAX + 2] = { 0,     0,       0x80,
	                                         0x800, 0x10000, 0x110000 };

static const struct {
	uint32_t first;
	uint32_t last;
} unprintable[] = {
	{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0x61c, 0x61c },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0xfeff, 0xfeff },
};

static bool
is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t
utf8_read(const char *text, size_t size, uint32_t *character)
{
	const unsigned lead = size == 0 ? 0 : (unsigned char)*text;
	size_t ones = 0; /* leading 1 bits of the first byte */

	while ((lead << ones & 0x80) != 0)
		ones++;

	const size_t length = ones == 0 ? 1 : ones;

	if (ones == 1 || length > LENGTH_MAX || length > size)
		return 0;
	*character = lead & (0x7fU >> ones);
	for (size_t i = 1; i < length; i++) {
		if (!is_continuation(text[i]))
			return 0;
		*character = *character << 6 | (text[i] & 0x3f);
	}
	/* Overlong, beyond Unicode, or a surrogate of UTF-16. */
	if (*character < firsts[length] ||
	    *character >= firsts[LENGTH_MAX + 1] ||
	    (*character >= 0xd800 && *character <= 0xdfff))
		return 0;
	return length;
}

size_t
utf8_fit(const char *text, size_t size)
{
	size_t length = strnlen(text, size);

	while (length > 0 && is_continuation(text[length]))
		length--;
	return length;
}

size_t
utf8_columns(const char *text, size_t width, size_t *count)
{
	size_t length = 0;

	*count = 0;
	for (; text[length] != '\0'; length++) {
		if (is_continuation(text[length]))
			continue;
		if (*count == width)
			break;
		++*count;
	}
	return length;
}

bool
utf8_is_printable(uint32_t character)
{
	for (size_t i = 0; i < sizeof(unprintable) / sizeof(unprintable[0]);
	     i++) {
		if (character >= unprintable[i].first &&
		    character <= unprintable[i].last)
			return false;
	}
	return true;
}

void
utf8_make_printable(char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		uint32_t character;
		const size_t length =
		    utf8_read(text + at, size - at, &character);

		/* The character's other bytes are not UTF-8 without the first,
		 * and replaced in the next rounds. */
		if (length == 0 || !utf8_is_printable(character))
			text[at++] = '?';
		else
			at += length;
	}
}
