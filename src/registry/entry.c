/* An entry of the registry, written as text and read from it. */
#include "registry/entry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "wdrun 2" /* the first line */

/* --- writing -------------------------------------------------------------- */

/* Appends "KEY VALUE", with at most MOST bytes of VALUE. */
static void
add_text(struct strbuf *text, const char *key, const char *value, int most)
{
	strbuf_addf(text, "%s %.*s%c", key, most, value, '\0');
}

static void
add_number(struct strbuf *text, const char *key, int64_t number)
{
	strbuf_addf(text, "%s %" PRId64 "%c", key, number, '\0');
}

static void
add_process(struct strbuf *text, const char *key, const struct procid *process)
{
	strbuf_addf(text, "%s %d %" PRIu64 "%c", key, process->pid,
	            process->start, '\0');
}

static void
add_files(struct strbuf *text, const struct entry *entry)
{
	for (size_t i = 0; i < entry->file_count; i++)
		strbuf_addf(text, "file %" PRId64 " %s%c",
		            entry->files[i].before, entry->files[i].path, '\0');
}

static void
add_command(struct strbuf *text, char *const command[])
{
	size_t left = ENTRY_COMMAND_MAX;

	for (int i = 0; command[i] != NULL; i++) {
		const size_t size = strlen(command[i]) + 1;

		if (left > 0 && i < ENTRY_WORDS)
			add_text(text, "arg", command[i], (int)left - 1);
		if (size > left || i == ENTRY_WORDS) {
			add_text(text, "arg", ENTRY_CUT, ENTRY_COMMAND_MAX);
			return;
		}
		left -= size;
	}
}

void
entry_format(struct strbuf *text, const struct entry *entry,
             char *const command[])
{
	strbuf_addf(text, VERSION "%c", '\0');
	strbuf_addf(text, "host %s%c", entry->host, '\0');
	if (entry->name != NULL)
		strbuf_addf(text, "name %s%c", entry->name, '\0');
	add_number(text, "until", entry->until);
	add_number(text, "kill-after", entry->kill_after);
	add_files(text, entry);
	add_command(text, command);
	add_process(text, "front", &entry->front);
}

void
entry_format_target(struct strbuf *text, const struct entry *entry)
{
	add_files(text, entry);
	add_number(text, "until", entry->until);
	add_number(text, "session", entry->session);
	add_process(text, "supervisor", &entry->supervisor);
}

/* --- reading -------------------------------------------------------------- */

/* A number that is none counts as 0: only this user can have written it. */
static int64_t
read_number(const char *value)
{
	return strtoll(value, NULL, DECIMAL);
}

static struct procid
read_process(char *value)
{
	const pid_t pid = (pid_t)strtol(value, &value, DECIMAL);

	return (struct procid){ pid, strtoull(value, NULL, DECIMAL) };
}

static void
read_file(const char *value, struct entry *entry)
{
	const char *const path = strchr(value, '/');

	if (path != NULL && entry->file_count < ENTRY_FILES_MAX)
		entry->files[entry->file_count++] =
		    (struct cleanup){ .path = path,
			              .before = read_number(value),
			              .claim_fd = -1 };
}

static void
read_word(char *value, struct entry *entry)
{
	size_t count = 0;

	while (entry->command[count] != NULL)
		count++;
	if (count <= ENTRY_WORDS)
		entry->command[count] = value;
}

static void
read_line(char *line, struct entry *entry)
{
	char *const blank = strchr(line, ' ');

	if (blank == NULL)
		return;
	*blank = '\0';

	char *const value = blank + 1;

	if (strcmp(line, "host") == 0)
		entry->host = value;
	else if (strcmp(line, "name") == 0)
		entry->name = value;
	else if (strcmp(line, "until") == 0)
		entry->until = read_number(value);
	else if (strcmp(line, "kill-after") == 0)
		entry->kill_after = read_number(value);
	else if (strcmp(line, "file") == 0)
		read_file(value, entry);
	else if (strcmp(line, "arg") == 0)
		read_word(value, entry);
	else if (strcmp(line, "front") == 0)
		entry->front = read_process(value);
	else if (strcmp(line, "session") == 0)
		entry->session = (pid_t)read_number(value);
	else if (strcmp(line, "supervisor") == 0)
		entry->supervisor = read_process(value);
}

int
entry_parse(char *text, size_t size, struct entry *entry)
{
	char *const text_end = text + size;
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
	if (entry->front.pid == 0)
		return 0;
	return entry->front.pid > 0 && entry->host != NULL &&
	               entry->command[0] != NULL
	           ? 1
	           : -1;
}
