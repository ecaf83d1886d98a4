/* An entry of the registry, written as text and read from it. */
#include "registry/entry.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

#define FIRST_LINE "wdrun 2\n"

/* --- writing -------------------------------------------------------------- */

/* Appends "KEY TEXT" with at most MOST bytes of TEXT. */
static void
add_part(struct strbuf *line, const char *key, const char *text, size_t most)
{
	strbuf_addf(line, "%s ", key);
	for (const char *end = text + strnlen(text, most); text < end; text++) {
		if (*text == '\n')
			strbuf_addf(line, "\\n");
		else
			strbuf_addf(line, *text == '\\' ? "\\\\" : "%c", *text);
	}
	strbuf_addf(line, "\n");
}

static void
add_text(struct strbuf *line, const char *key, const char *text)
{
	if (text != NULL)
		add_part(line, key, text, SIZE_MAX);
}

static void
add_time(struct strbuf *line, const char *key, int64_t ns)
{
	if (ns == NEVER)
		strbuf_addf(line, "%s never\n", key);
	else
		strbuf_addf(line, "%s %" PRId64 "\n", key, ns);
}

static void
add_process(struct strbuf *line, const char *key, const struct procid *process)
{
	strbuf_addf(line, "%s %d %" PRIu64 "\n", key, process->pid,
	            process->start);
}

static void
add_command(struct strbuf *line, char *const command[])
{
	size_t left = ENTRY_COMMAND_MAX;

	for (int i = 0; command[i] != NULL; i++) {
		const size_t size = strlen(command[i]) + 1;

		if (left > 0 && i < ENTRY_ARGUMENTS)
			add_part(line, "arg", command[i], left - 1);
		if (size > left || i == ENTRY_ARGUMENTS) {
			strbuf_addf(line, "cut\n");
			return;
		}
		left -= size;
	}
}

void
entry_format(struct strbuf *line, const struct entry *entry,
             char *const command[])
{
	strbuf_addf(line, FIRST_LINE);
	add_text(line, "host", entry->host);
	add_process(line, "front", &entry->front);
	add_time(line, "epoch", entry->started_at);
	add_time(line, "wait", entry->lock_wait);
	add_time(line, "timeout", entry->timeout);
	add_time(line, "kill-after", entry->kill_after);
	add_text(line, "name", entry->name);
	add_text(line, "directory", entry->directory);
	for (size_t i = 0; i < entry->lock_count; i++)
		add_text(line, "lock", entry->locks[i]);
	add_command(line, command);
	strbuf_addf(line, "written\n");
}

void
entry_format_target(struct strbuf *line, const struct entry *entry)
{
	for (size_t i = 0; i < entry->cleanup_count; i++) {
		const struct cleanup *const file = &entry->cleanups[i];

		strbuf_addf(line, "cleanup %" PRId64, file->before);
		add_text(line, "", file->path);
	}
	add_process(line, "supervisor", &entry->supervisor);
	strbuf_addf(line, "session %d\n", entry->session);
	add_time(line, "started", entry->target_started_at);
	strbuf_addf(line, "target %d\n", entry->target);
}

/* --- reading -------------------------------------------------------------- */

/* Takes a number up to MAX, and the blank behind it, from *TEXT. Returns
 * whether there is one. */
static bool
take_number(char **text, uint64_t max, uint64_t *number)
{
	if (!isdigit((unsigned char)**text)) /* nor a blank or a sign */
		return false;
	errno = 0;
	*number = strtoull(*text, text, 10);
	if (errno != 0 || *number > max || (**text != ' ' && **text != '\0'))
		return false;
	*text += **text == ' ';
	return true;
}

/* The next ones read the value TEXT into a field, and return whether TEXT is
 * such a value. */

static bool
read_text(char *text, const char **field)
{
	char *end = text;

	*field = text;
	for (; *text != '\0'; text++) {
		const bool is_escaped = *text == '\\';

		text += is_escaped;
		if (is_escaped && *text != 'n' && *text != '\\')
			return false;
		*end++ = *text;
		if (is_escaped && *text == 'n')
			end[-1] = '\n';
	}
	*end = '\0';
	return true;
}

static bool
read_time(char *text, int64_t *field)
{
	uint64_t number = NEVER;
	const bool is_never = strcmp(text, "never") == 0;
	const bool is_time = is_never || take_number(&text, NEVER, &number);

	*field = (int64_t)number;
	return is_time && (is_never || *text == '\0');
}

static bool
read_pid(char **text, pid_t *field)
{
	uint64_t pid = 0;
	const bool is_pid = take_number(text, INT_MAX, &pid);

	*field = (pid_t)pid;
	return is_pid;
}

static bool
read_process(char *text, struct procid *field)
{
	return read_pid(&text, &field->pid) &&
	       take_number(&text, UINT64_MAX, &field->start);
}

static bool
read_argument(char *text, struct entry *entry)
{
	size_t count = 0;
	const char *argument;

	while (entry->command[count] != NULL)
		count++;
	if (count == ENTRY_ARGUMENTS || !read_text(text, &argument))
		return false;
	entry->command[count] = text;
	return true;
}

static bool
read_cleanup(char *text, struct entry *entry)
{
	struct cleanup file = { .claim_fd = -1 };
	uint64_t before;

	if (entry->cleanup_count == ENTRY_FILES_MAX ||
	    !take_number(&text, INT64_MAX, &before) || *text != '/' ||
	    !read_text(text, &file.path))
		return false;
	file.before = (int64_t)before;
	entry->cleanups[entry->cleanup_count++] = file;
	return true;
}

/* Reads the line of KEY with the value TEXT. Returns whether it is valid. */
static bool
read_line(const char *key, char *text, struct entry *entry)
{
	const struct {
		const char *key;
		const char **text;
		int64_t *time;
		pid_t *pid;
	} fields[] = {
		{ "host", .text = &entry->host },
		{ "epoch", .time = &entry->started_at },
		{ "wait", .time = &entry->lock_wait },
		{ "timeout", .time = &entry->timeout },
		{ "kill-after", .time = &entry->kill_after },
		{ "name", .text = &entry->name },
		{ "directory", .text = &entry->directory },
		{ "session", .pid = &entry->session },
		{ "started", .time = &entry->target_started_at },
		{ "target", .pid = &entry->target },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(key, fields[i].key) != 0)
			continue;
		if (fields[i].text != NULL)
			return read_text(text, fields[i].text);
		return fields[i].time != NULL ? read_time(text, fields[i].time)
		                              : read_pid(&text, fields[i].pid);
	}
	if (strcmp(key, "front") == 0)
		return read_process(text, &entry->front);
	if (strcmp(key, "supervisor") == 0)
		return read_process(text, &entry->supervisor);
	if (strcmp(key, "arg") == 0)
		return read_argument(text, entry);
	if (strcmp(key, "lock") == 0)
		return *text == '/' && entry->lock_count < ENTRY_FILES_MAX &&
		       read_text(text, &entry->locks[entry->lock_count++]);
	if (strcmp(key, "cleanup") == 0)
		return read_cleanup(text, entry);
	entry->is_cut |= strcmp(key, "cut") == 0;
	entry->is_written |= strcmp(key, "written") == 0;
	return true;
}

int
entry_parse(char *text, struct entry *entry)
{
	bool is_entry =
	    strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) == 0 || *text == '\0';
	char *end;

	*entry = (struct entry){ .front.pid = 0 };
	/* A last line without its end was cut off by the death of its writer,
	 * or a full file system. */
	for (; is_entry && (end = strchr(text, '\n')) != NULL; text = end + 1) {
		char *value = text + strcspn(text, " \n");
		const bool has_value = *value == ' ';

		*end = *value = '\0';
		is_entry =
		    read_line(text, has_value ? value + 1 : value, entry);
	}
	if (is_entry && entry->is_written && entry->host != NULL &&
	    entry->front.pid > 0 && entry->command[0] != NULL)
		return 0;
	errno = is_entry && !entry->is_written ? ENODATA : EINVAL;
	return -1;
}
