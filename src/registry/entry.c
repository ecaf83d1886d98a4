/* An entry of the registry, written as text and read from it. */
#include "registry/entry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "wdrun 2" /* the first line */

static void
add_files(struct strbuf *text, const struct entry *entry)
{
	for (size_t i = 0; i < entry->file_count; i++)
		strbuf_addf(text, "file %" PRId64 " %s%c",
		            entry->files[i].before, entry->files[i].path, '\0');
}

void
entry_format(struct strbuf *text, const struct entry *entry,
             char *const command[])
{
	strbuf_addf(text, VERSION "%chost %s%c", '\0', entry->host, '\0');
	if (entry->name != NULL)
		strbuf_addf(text, "name %s%c", entry->name, '\0');
	add_files(text, entry);
	for (; *command != NULL; command++)
		strbuf_addf(text, "arg %s%c", *command, '\0');
	strbuf_addf(text, "front %d %" PRIu64 " %" PRId64 " %" PRId64 "%c",
	            entry->front.pid, entry->front.start, entry->until,
	            entry->kill_after, '\0');
}

void
entry_format_target(struct strbuf *text, const struct entry *entry)
{
	add_files(text, entry);
	strbuf_addf(text, "target %d %" PRIu64 " %d %" PRId64 "%c",
	            entry->supervisor.pid, entry->supervisor.start,
	            entry->session, entry->until, '\0');
}

static void
add_file(const char *value, struct entry *entry)
{
	const char *const path = strchr(value, '/');

	if (path != NULL && entry->file_count < ENTRY_FILES_MAX)
		entry->files[entry->file_count++] =
		    (struct cleanup){ .path = path,
			              .before = strtoll(value, NULL, 10),
			              .claim_fd = -1 };
}

/* Numbers are not checked: only this user can have written them. */
static void
read_line(char *line, struct entry *entry)
{
	char *value = line;

	(void)strsep(&value, " ");
	if (value == NULL)
		return;
	if (strcmp(line, "host") == 0)
		entry->host = value;
	else if (strcmp(line, "name") == 0)
		entry->name = value;
	else if (strcmp(line, "file") == 0)
		add_file(value, entry);
	else if (strcmp(line, "arg") == 0 && entry->command == NULL)
		entry->command = value;
	else if (strcmp(line, "front") == 0)
		/* NOLINTNEXTLINE(cert-err34-c) */
		(void)sscanf(value, "%d %" SCNu64 " %" SCNd64 " %" SCNd64,
		             &entry->front.pid, &entry->front.start,
		             &entry->until, &entry->kill_after);
	else if (strcmp(line, "target") == 0)
		/* NOLINTNEXTLINE(cert-err34-c) */
		(void)sscanf(value, "%d %" SCNu64 " %d %" SCNd64,
		             &entry->supervisor.pid, &entry->supervisor.start,
		             &entry->session, &entry->until);
}

int
entry_parse(char *text, size_t size, struct entry *entry)
{
	const char *const text_end = text + size;
	char *end;

	*entry = (struct entry){ .name = NULL };
	if (size > 0 && (size < sizeof(VERSION) ||
	                 memcmp(text, VERSION, sizeof(VERSION)) != 0))
		return -1;
	/* A last line without its end was cut off by the death of its writer,
	 * or a full file system. */
	for (; (end = memchr(text, '\0', (size_t)(text_end - text))) != NULL;
	     text = end + 1)
		read_line(text, entry);
	if (entry->front.pid > 0 && entry->host != NULL &&
	    entry->command != NULL)
		return 1;
	return entry->front.pid == 0 ? 0 : -1;
}

const char *
entry_next_word(const char *word)
{
	static const char key[] = "arg"; /* read_line() has ended it */

	word += strlen(word) + 1;
	return strcmp(word, key) == 0 ? word + sizeof(key) : NULL;
}
