/* What --list prints. */
#include "registry/registry.h"

#include <sys/ioctl.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"

#define WIDTH_MAX 8192 /* of a row that does not go to a terminal */
#define ROW       "%-16s  %-7.*s  %-9s  %6s  %6s  "

static int64_t
seconds_between(int64_t from, int64_t to)
{
	return to > from ? (to - from) / SECOND : 0;
}

/* Makes the row that begins at START of TEXT fit for the terminal, of WIDTH
 * columns, and ends it. */
static void
end_row(struct strbuf *text, size_t start, size_t width)
{
	if (text->is_cut)
		return;
	if (text->length - start > width)
		text->length = start + width;
	text->text[text->length] = '\0';
	utf8_make_printable(text->text + start);
	strbuf_addf(text, "\n");
}

static void
add_row(struct strbuf *text, const struct registry_walk *walk, int64_t now,
        size_t width)
{
	const struct entry *const entry = &walk->entry;
	const size_t start = text->length;
	char age[DURATION_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE] = "-";

	(void)duration_format(seconds_between(walk->started_at, now) * SECOND,
	                      age);
	if (entry->until != NEVER)
		(void)duration_format(
		    seconds_between(now, entry->until) * SECOND, left);
	strbuf_addf(text, ROW, entry->name == NULL ? "-" : entry->name,
	            (int)strcspn(walk->id, "-"), walk->id, walk->state, age,
	            left);
	for (const char *word = entry->command; word != NULL;
	     word = entry_next_word(word))
		strbuf_addf(text, word == entry->command ? "%s" : " %s", word);
	end_row(text, start, width);
}

static void
add_object(struct strbuf *text, const struct registry_walk *walk, int64_t now)
{
	const struct entry *const entry = &walk->entry;

	strbuf_addf(text, text->length == 0 ? "[\n{" : ",\n{");
	json_add_text(text, "id", walk->id);
	json_add_text(text, "name", entry->name);
	json_add_text(text, "state", walk->state);
	json_add_number(text, "pid", entry->front.pid);
	json_add_number(text, "age", seconds_between(walk->started_at, now));
	if (entry->until == NEVER)
		json_add_text(text, "left", NULL);
	else
		json_add_number(text, "left",
		                seconds_between(now, entry->until));
	json_add_key(text, "command");
	strbuf_addf(text, "[");
	for (const char *word = entry->command; word != NULL;
	     word = entry_next_word(word)) {
		json_add_comma(text);
		json_add_string(text, word);
	}
	strbuf_addf(text, "]}");
}

int
list_print(const char *registry, bool as_json, bool is_quiet)
{
	struct registry_walk walk = { .count = 0 };
	struct winsize size = { .ws_col = 0 };
	struct strbuf text = { .grows = true };
	const int64_t now = duration_since_epoch();
	const bool is_read = registry_begin(&walk, registry) == 0;
	int status = STATUS_FAILED;
	size_t count = 0;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);

	const size_t width = size.ws_col > 0 ? size.ws_col : WIDTH_MAX;

	if (!as_json) {
		strbuf_addf(&text, ROW "COMMAND", "NAME", 2, "ID", "STATE",
		            "AGE", "LEFT");
		end_row(&text, 0, width);
	}
	while (is_read && registry_next(&walk)) {
		if (as_json)
			add_object(&text, &walk, now);
		else
			add_row(&text, &walk, now, width);
		count++;
	}
	if (as_json)
		strbuf_addf(&text, count == 0 ? "[]\n" : "\n]\n");

	/* Nothing is printed but a complete list. */
	if (text.is_cut)
		message("--list: no memory");
	else if (is_read)
		status =
		    as_json || count > 0 ? message_print(&text) : EXIT_SUCCESS;
	if (is_read && count == 0 && !as_json && !is_quiet)
		message("no runs on record in %s (--name or --registry puts a "
		        "run there)",
		        walk.path);
	free(text.text);
	registry_end(&walk);
	return status;
}
