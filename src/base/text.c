/* Text: made in a buffer, made safe to show, and JSON. */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 4 /* bytes of a character */

void
strbuf_addf(struct strbuf *line, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);

	const size_t added = (size_t)vsnprintf(NULL, 0, format, arguments);
	const size_t needed = line->length + added + 1;

	va_end(arguments);
	if (line->grows && needed > line->size) {
		char *const text = realloc(line->text, 2 * needed);

		if (text != NULL) {
			line->text = text;
			line->size = 2 * needed;
		}
	}
	line->is_cut |= needed > line->size;
	if (line->size == 0)
		return;
	va_start(arguments, format);
	(void)vsnprintf(line->text + line->length, line->size - line->length,
	                format, arguments);
	va_end(arguments);
	line->length = (needed < line->size ? needed : line->size) - 1;
}

/* Returns the length in bytes of the first character of TEXT; or 0 if that is a
 * control character (C0, DEL, C1), or not UTF-8 (RFC 3629). */
static size_t
printable_length(const char *text)
{
	/* Those below are controls, or could be written in fewer bytes. */
	static const uint32_t firsts[] = { 0, 0x20, 0xa0, 0x800, 0x10000 };
	const unsigned lead = (unsigned char)*text;
	/* The leading 1 bits: none in ASCII, one in a continuation. */
	const size_t ones = (size_t)__builtin_clz(~(lead << 24));
	const size_t length = ones == 0 ? 1 : ones;
	uint32_t character = lead & (0x7fU >> ones);

	if (ones == 1 || length > LENGTH_MAX)
		return 0;
	/* The null byte at the end of TEXT is no continuation. */
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		character = character << 6 | (text[i] & 0x3f);
	}
	/* DEL, beyond Unicode, or a surrogate of UTF-16. */
	if (character < firsts[length] || character == 0x7f ||
	    character > 0x10ffff ||
	    (character >= 0xd800 && character <= 0xdfff))
		return 0;
	return length;
}

void
utf8_make_printable(char *text)
{
	for (size_t length; *text != '\0'; text += length > 0 ? length : 1) {
		length = printable_length(text);
		/* Its other bytes are not UTF-8 without the first. */
		if (length == 0)
			*text = '?';
	}
}

void
json_add_comma(struct strbuf *line)
{
	if (line->length > 0 &&
	    strchr("{[:", line->text[line->length - 1]) == NULL)
		strbuf_addf(line, ",");
}

void
json_add_string(struct strbuf *line, const char *text)
{
	json_add_comma(line);
	if (text == NULL) {
		strbuf_addf(line, "null");
		return;
	}
	strbuf_addf(line, "\"");
	for (size_t length; *text != '\0'; text += length > 0 ? length : 1) {
		length = printable_length(text);
		if (length > 0)
			strbuf_addf(line,
			            *text == '"' || *text == '\\' ? "\\%.*s"
			                                          : "%.*s",
			            (int)length, text);
		else if ((*text & 0x80) != 0)
			strbuf_addf(line, "\xef\xbf\xbd"); /* U+FFFD */
		else
			strbuf_addf(line, "\\u%04x", (unsigned)*text);
	}
	strbuf_addf(line, "\"");
}

void
json_add_key(struct strbuf *line, const char *key)
{
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
json_add_strings(struct strbuf *line, const char *key,
                 const char *const strings[])
{
	json_add_key(line, key);
	strbuf_addf(line, "[");
	for (size_t i = 0; strings[i] != NULL; i++)
		json_add_string(line, strings[i]);
	strbuf_addf(line, "]");
}

void
json_add_number(struct strbuf *line, const char *key, int64_t number)
{
	json_add_key(line, key);
	strbuf_addf(line, number == JSON_NULL ? "null" : "%" PRId64, number);
}
