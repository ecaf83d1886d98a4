/* UTF-8 in text that comes from elsewhere, and may be anything. */
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

#define FIRST_VISIBLE 0x20
#define DELETE        0x7f

#define CONTINUATION      0x80
#define CONTINUATION_MASK 0xc0

#define C1_LEAD 0xc2 /* of U+0080 to U+00BF; the control characters */
#define C1_END  0xa0 /* are those before U+00A0 */

#define FORMAT_LEAD 0xe2 /* of U+2000 to U+2FFF */

/* The first and the second byte of a character: RFC 3629, section 4. This
 * excludes characters in more bytes than they need, the halves of a pair of
 * UTF-16, and numbers that Unicode has no room for. */
static const struct {
	unsigned char lead_first;
	unsigned char lead_last;
	unsigned char second_first;
	unsigned char second_last;
	size_t length;
} forms[] = {
	{ 0x00, 0x7f, 0x00, 0x00, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
	{ 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
	{ 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
	{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool
is_continuation(char byte)
{
	return ((unsigned char)byte & CONTINUATION_MASK) == CONTINUATION;
}

size_t
utf8_length(const char *text, size_t size)
{
	const unsigned char *const bytes = (const unsigned char *)text;
	size_t i = 0;

	while (
	    i < sizeof(forms) / sizeof(forms[0]) && size > 0 &&
	    (bytes[0] < forms[i].lead_first || bytes[0] > forms[i].lead_last))
		i++;
	if (i == sizeof(forms) / sizeof(forms[0]) || forms[i].length > size)
		return 0;
	if (forms[i].length > 1 && (bytes[1] < forms[i].second_first ||
	                            bytes[1] > forms[i].second_last))
		return 0;
	for (size_t at = 2; at < forms[i].length; at++) {
		if (!is_continuation(text[at]))
			return 0;
	}
	return forms[i].length;
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

/* Whether a character of three bytes cannot be seen, ends a line, or turns the
 * direction of the text behind it: U+200B to U+200F, U+2028 to U+202E, U+2066
 * to U+2069. */
static bool
is_format(const unsigned char *bytes)
{
	const unsigned tail = (unsigned)bytes[1] << 8 | bytes[2];

	return bytes[0] == FORMAT_LEAD && ((tail >= 0x808b && tail <= 0x808f) ||
	                                   (tail >= 0x80a8 && tail <= 0x80ae) ||
	                                   (tail >= 0x81a6 && tail <= 0x81a9));
}

/* Terminals obey those of C1 (U+0080 to U+009F) as well. */
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

		/* Without its first byte, the rest of a control character is
		 * no UTF-8, and replaced in the next rounds. */
		if (length == 0 || is_control(text + at, length))
			text[at++] = '?';
		else
			at += length;
	}
}
