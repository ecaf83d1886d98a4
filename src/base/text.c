/* Text: made in a buffer, read as numbers, made safe to show, and JSON. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROWN_MIN  1024
#define LENGTH_MAX 4 /* bytes of a character */

/* --- text in a buffer ----------------------------------------------------- */

/* Writes behind LINE's text what fits. Returns the length without a limit. */
__attribute__((format(printf, 2, 0))) static size_t
add_what_fits(struct strbuf *line, const char *format, va_list arguments)
{
	const size_t left = line->size - line->length;
	char *const end = left == 0 ? NULL : line->text + line->length;
	va_list copy;

	va_copy(copy, arguments);

	/* The analyzer sees neither va_copy(3) nor va_start(3). */
	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	const int length = vsnprintf(end, left, format, copy);

	va_end(copy);
	return length < 0 ? 0 : (size_t)length;
}

/* Gives LINE twice the room that LENGTH more bytes need. */
static bool
grow(struct strbuf *line, size_t length)
{
	const size_t size = 2 * (line->length + length) + GROWN_MIN;
	char *const text = realloc(line->text, size);

	if (text == NULL)
		return false;
	line->text = text;
	line->size = size;
	return true;
}

void
strbuf_vaddf(struct strbuf *line, const char *format, va_list arguments)
{
	size_t length = add_what_fits(line, format, arguments);

	if (length >= line->size - line->length && line->grows &&
	    grow(line, length))
		length = add_what_fits(line, format, arguments);

	const size_t left = line->size - line->length;

	line->is_cut |= length >= left;
	if (left > 0)
		line->length += length < left ? length : left - 1;
}

void
strbuf_addf(struct strbuf *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	strbuf_vaddf(line, format, arguments);
	va_end(arguments);
}

void
strbuf_free(struct strbuf *line)
{
	free(line->text);
	*line = (struct strbuf){ .text = NULL };
}

size_t
strbuf_format(char *text, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);

	/* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	const int length = vsnprintf(text, size, format, arguments);

	va_end(arguments);
	return length < 0 ? 0 : (size_t)length;
}

/* --- numbers -------------------------------------------------------------- */

const char *
text_read_number(const char *text, unsigned base, uint64_t *number)
{
	const int saved = errno;
	const bool has_digit = isxdigit((unsigned char)*text) &&
	                       (*text <= '9' || base == HEXADECIMAL);
	char *end;

	*number = 0;
	if (!has_digit || (text[0] == '0' && tolower(text[1]) == 'x'))
		return NULL;
	errno = 0;
	*number = strtoull(text, &end, (int)base);

	const bool is_too_large = errno == ERANGE;

	errno = saved;
	if (!is_too_large)
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

/* --- UTF-8 ---------------------------------------------------------------- */

static bool
is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Decodes the first character (RFC 3629) of the SIZE bytes at TEXT into
 * *CHARACTER. Returns its length in bytes, or 0 if TEXT is not UTF-8. */
static size_t
read_character(const char *text, size_t size, uint32_t *character)
{
	static const uint32_t firsts[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned lead = (unsigned char)*text;
	/* The leading 1 bits: none in ASCII, one in a continuation. */
	const size_t ones = (size_t)__builtin_clz(~(lead << 24));
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
	if (*character < firsts[length] || *character > 0x10ffff ||
	    (*character >= 0xd800 && *character <= 0xdfff))
		return 0;
	return length;
}

static bool
is_control(uint32_t character)
{
	return character < 0x20 || (character >= 0x7f && character < 0xa0);
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
	*count = utf8_fit(text, width);
	return *count;
}

void
utf8_make_printable(char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		uint32_t character;
		const size_t length =
		    read_character(text + at, size - at, &character);

		/* The character's other bytes are not UTF-8 without the first,
		 * and replaced in the next rounds. */
		if (length == 0 || is_control(character))
			text[at++] = '?';
		else
			at += length;
	}
}

/* --- JSON ----------------------------------------------------------------- */

void
json_add_string(struct strbuf *line, const char *text)
{
	if (text == NULL) {
		strbuf_addf(line, "null");
		return;
	}

	size_t left = strlen(text);

	strbuf_addf(line, "\"");
	while (left > 0) {
		uint32_t character;
		const size_t length = read_character(text, left, &character);
		const size_t step = length == 0 ? 1 : length;

		if (length == 0)
			strbuf_addf(line, "\xef\xbf\xbd"); /* U+FFFD */
		else if (is_control(character))
			strbuf_addf(line, "\\u%04x", character);
		else if (*text == '"' || *text == '\\')
			strbuf_addf(line, "\\%c", *text);
		else
			strbuf_addf(line, "%.*s", (int)length, text);
		text += step;
		left -= step;
	}
	strbuf_addf(line, "\"");
}

void
json_add_comma(struct strbuf *line)
{
	if (line->length > 0 &&
	    strchr("{[", line->text[line->length - 1]) == NULL)
		strbuf_addf(line, ",");
}

void
json_add_key(struct strbuf *line, const char *key)
{
	json_add_comma(line);
	json_add_string(line, key);
	strbuf_addf(line, ":");
}

void
json_add_text(struct strbuf *line, const char *key, const char *text)
{
	json_add_key(line, key);
	json_add_string(line, text);
}

void
json_add_strings(struct strbuf *line, const char *key, size_t count,
                 const char *const strings[])
{
	json_add_key(line, key);
	strbuf_addf(line, "[");
	for (size_t i = 0; i < count; i++) {
		json_add_comma(line);
		json_add_string(line, strings[i]);
	}
	strbuf_addf(line, "]");
}

void
json_add_number(struct strbuf *line, const char *key, int64_t number)
{
	json_add_key(line, key);
	strbuf_addf(line, "%" PRId64, number);
}

void
json_add_bool(struct strbuf *line, const char *key, bool value)
{
	json_add_key(line, key);
	strbuf_addf(line, value ? "true" : "false");
}
