/* Text of which nobody knows what it is, for readers who take it for UTF-8. */
#include "utf8.h"

#include <stdbool.h>

#define FIRST_VISIBLE 0x20
#define DELETE        0x7f

/* RFC 3629 */
#define LENGTH_MAX        4
#define CONTINUATION      0x80
#define CONTINUATION_MASK 0xc0
#define CONTINUATION_BITS 6
#define SURROGATE_FIRST   0xd800
#define SURROGATE_LAST    0xdfff
#define CHARACTER_MAX     0x10ffff

#define C1_LEAD 0xc2
#define C1_END  0xa0

#define FORMAT_LEAD 0xe2

/* What stands for a character in more bytes than it needs is none, nor is half
 * of a pair of UTF-16, nor what Unicode has no room for. */
static bool
is_character(unsigned long value, size_t length)
{
	static const unsigned long first[] = { 0, 0, 0x80, 0x800, 0x10000 };

	return value >= first[length] && value <= CHARACTER_MAX &&
	       (value < SURROGATE_FIRST || value > SURROGATE_LAST);
}

size_t
utf8_length(const char *text, size_t size)
{
	static const unsigned char masks[] = { 0x80, 0xe0, 0xf0, 0xf8 };
	static const unsigned char leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
	const unsigned char *const bytes = (const unsigned char *)text;
	size_t length = 1;

	if (size == 0)
		return 0;
	while (length <= LENGTH_MAX &&
	       (bytes[0] & masks[length - 1]) != leads[length - 1])
		length++;
	if (length > LENGTH_MAX || length > size)
		return 0;

	unsigned long value = bytes[0] & ~(unsigned)masks[length - 1];

	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & CONTINUATION_MASK) != CONTINUATION)
			return 0;
		value = value << CONTINUATION_BITS |
		        (bytes[i] & ~(unsigned)CONTINUATION_MASK);
	}
	return is_character(value, length) ? length : 0;
}

/* Whether a character of three bytes cannot be seen, ends a line, or turns the
 * direction of what follows: U+200B to U+200F, U+2028 to U+202E, U+2066 to
 * U+2069. */
static bool
is_format(const unsigned char *bytes)
{
	const unsigned tail = (unsigned)bytes[1] << 8 | bytes[2];

	return bytes[0] == FORMAT_LEAD && ((tail >= 0x808b && tail <= 0x808f) ||
	                                   (tail >= 0x80a8 && tail <= 0x80ae) ||
	                                   (tail >= 0x81a6 && tail <= 0x81a9));
}

/* Those of C1 (U+0080 to U+009F) are obeyed by terminals as well. */
static bool
is_control(const char *text, size_t length)
{
	const unsigned char *const bytes = (const unsigned char *)text;

	if (length == 1)
		return bytes[0] < FIRST_VISIBLE || bytes[0] == DELETE;
	return length == 3 ? is_format(bytes)
	                   : bytes[0] == C1_LEAD && bytes[1] < C1_END;
}

void
utf8_make_printable(char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		const size_t length = utf8_length(text + at, size - at);

		/* Of a control character of several bytes, the others are no
		 * UTF-8 without the first. */
		if (length == 0 || is_control(text + at, length))
			text[at++] = '?';
		else
			at += length;
	}
}
