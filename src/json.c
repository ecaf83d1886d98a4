/* JSON, as other programs read it. */
#include "json.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "utf8.h"

#define FIRST_VISIBLE 0x20
#define DELETE        0x7f

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void
json_add_string(struct line *line, const char *text)
{
	if (text == NULL) {
		line_add(line, "null");
		return;
	}

	size_t left = strlen(text);

	line_add(line, "\"");
	while (left > 0) {
		const unsigned char byte = (unsigned char)*text;
		const size_t length = utf8_length(text, left);
		const size_t step = length == 0 ? 1 : length;

		if (length == 0)
			line_add(line, "%s", replacement);
		else if (byte < FIRST_VISIBLE || byte == DELETE)
			line_add(line, "\\u%04x", byte);
		else if (byte == '"' || byte == '\\')
			line_add(line, "\\%c", byte);
		else
			line_add(line, "%.*s", (int)length, text);
		text += step;
		left -= step;
	}
	line_add(line, "\"");
}

void
json_add_comma(struct line *line)
{
	if (line->length > 0 &&
	    strchr("{[", line->text[line->length - 1]) == NULL)
		line_add(line, ",");
}

void
json_add_key(struct line *line, const char *key)
{
	json_add_comma(line);
	json_add_string(line, key);
	line_add(line, ":");
}

void
json_add_text(struct line *line, const char *key, const char *text)
{
	json_add_key(line, key);
	json_add_string(line, text);
}

void
json_add_strings(struct line *line, const char *key, size_t count,
                 const char *const strings[])
{
	json_add_key(line, key);
	line_add(line, "[");
	for (size_t i = 0; i < count; i++) {
		json_add_comma(line);
		json_add_string(line, strings[i]);
	}
	line_add(line, "]");
}

void
json_add_number(struct line *line, const char *key, int64_t number)
{
	json_add_key(line, key);
	line_add(line, "%" PRId64, number);
}

void
json_add_bool(struct line *line, const char *key, bool value)
{
	json_add_key(line, key);
	line_add(line, value ? "true" : "false");
}
