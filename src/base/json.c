/* Writes JSON. */
#include "base/json.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

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
		const char byte = *text;
		uint32_t character;
		const size_t length = utf8_read(text, left, &character);
		const size_t step = length == 0 ? 1 : length;

		if (length == 0)
			strbuf_addf(line, "%s", replacement);
		else if (!utf8_is_printable(character))
			strbuf_addf(line, "\\u%04x", character);
		else if (byte == '"' || byte == '\\')
			strbuf_addf(line, "\\%c", byte);
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
