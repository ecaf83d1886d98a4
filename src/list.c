/* What --list prints. */
#include "list.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "json.h"
#include "print.h"
#include "registry.h"
#include "table.h"
#include "text.h"

/* Of an entry's text, nothing grows more than what is escaped for JSON; and
 * the keys. */
#define OBJECT_SIZE  ((size_t)JSON_GROWTH * ENTRY_TEXT_MAX + 1024)
#define COLUMN_COUNT 7
#define CELL_WIDTH   24 /* at a terminal: of an ID; a name may be longer */
#define PID_SIZE     16

struct list {
	bool as_json;
	int64_t now;
	int status;
	struct table table; /* or */
	struct line object; /* as JSON, with room for any */
	bool has_begun;     /* there was an object before */
};

static int64_t
age_of(const struct entry *entry, int64_t now)
{
	/* Not so in another time namespace: time_namespaces(7). */
	return now > entry->started ? now - entry->started : 0;
}

/* How much time is left, or NEVER. */
static int64_t
left_of(const struct entry *entry, int64_t now)
{
	const int64_t end = duration_add(entry->started, entry->timeout);

	if (entry->timeout == NEVER || end == NEVER)
		return NEVER;
	return end > now ? end - now : 0;
}

/* --- the table ------------------------------------------------------------ */

static void
add_command(struct line *line, const struct entry *entry)
{
	const char *argument = entry->command;

	for (size_t i = 0; i < entry->argument_count; i++) {
		line_add(line, i == 0 ? "%s" : " %s", argument);
		argument += strlen(argument) + 1;
	}
	if (entry->is_cut)
		line_add(line, "...");
}

/* Returns 0, or -1 with errno, as those who call it do. */
static int
add_cells(struct list *list, const char *const cells[COLUMN_COUNT])
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (table_add(&list->table, cells[i]) == -1)
			return -1;
	}
	return 0;
}

static int
add_row(struct list *list, const struct record *record)
{
	const struct entry *const entry = &record->entry;
	char pid[PID_SIZE] = "-";
	char age[DURATION_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE];
	char text[ENTRY_COMMAND_MAX + sizeof("...")];
	struct line command = { .text = text, .size = sizeof(text) };

	if (entry->front.pid != 0)
		(void)text_format(pid, sizeof(pid), "%d", entry->front.pid);
	add_command(&command, entry);

	const char *const cells[COLUMN_COUNT] = {
		entry->id,
		entry->name == NULL ? "-" : entry->name,
		registry_state_name(record->state),
		pid,
		duration_format_short(age_of(entry, list->now), age),
		duration_format_short(left_of(entry, list->now), left),
		text,
	};

	return add_cells(list, cells);
}

static int
add_header(struct list *list)
{
	static const char *const cells[COLUMN_COUNT] = {
		"ID", "NAME", "STATE", "PID", "AGE", "LEFT", "COMMAND",
	};

	return add_cells(list, cells);
}

static int
print_table(const struct list *list)
{
	struct winsize size;

	if (isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return table_print(&list->table, size.ws_col, CELL_WIDTH);
	return table_print(&list->table, SIZE_MAX, SIZE_MAX);
}

/* --- JSON ----------------------------------------------------------------- */

static void
add_pid(struct line *line, const char *key, pid_t pid)
{
	json_add_key(line, key);
	line_add(line, pid == 0 ? "null" : "%d", pid);
}

static void
add_arguments(struct line *line, const struct entry *entry)
{
	const char *argument = entry->command;

	json_add_key(line, "command");
	line_add(line, "[");
	for (size_t i = 0; i < entry->argument_count; i++) {
		json_add_comma(line);
		json_add_string(line, argument);
		argument += strlen(argument) + 1;
	}
	line_add(line, "]");
}

static void
add_files(struct line *line, const struct entry *entry)
{
	const char *cleanups[ENTRY_FILES_MAX];

	for (size_t i = 0; i < entry->cleanup_count; i++)
		cleanups[i] = entry->cleanups[i].path;
	json_add_strings(line, "locks", entry->lock_count, entry->locks);
	json_add_strings(line, "cleanup", entry->cleanup_count, cleanups);
}

static void
add_object(struct line *line, const struct record *record, int64_t now)
{
	const struct entry *const entry = &record->entry;
	const int64_t left = left_of(entry, now);

	line_add(line, "{");
	json_add_text(line, "id", entry->id);
	json_add_text(line, "name", entry->name);
	json_add_text(line, "state", registry_state_name(record->state));
	add_pid(line, "pid", entry->front.pid);
	add_pid(line, "supervisor", entry->supervisor.pid);
	add_pid(line, "target", entry->target.pid);
	json_add_number(line, "started", entry->started_at / SECOND);
	json_add_number(line, "age", age_of(entry, now) / SECOND);
	if (left == NEVER)
		json_add_text(line, "left", NULL);
	else
		json_add_number(line, "left", left / SECOND);
	json_add_text(line, "directory", entry->directory);
	add_arguments(line, entry);
	json_add_bool(line, "command_is_cut", entry->is_cut);
	add_files(line, entry);
	line_add(line, "}");
}

/* Writes the object out at once: of how many there are, nothing is cut. */
static int
print_object(struct list *list, const struct record *record)
{
	struct line *const line = &list->object;

	line->length = 0;
	line_add(line, list->has_begun ? ",\n" : "[\n");
	list->has_begun = true;
	add_object(line, record, list->now);
	return print_line(line);
}

/* --- both ----------------------------------------------------------------- */

static int
visit(const struct record *record, void *context)
{
	struct list *const list = context;

	switch (record->state) {
	case RECORD_RUNNING:
	case RECORD_STOPPING:
	case RECORD_ORPHANED:
	case RECORD_ELSEWHERE:
		break;
	case RECORD_OLD:
		return 0;
	case RECORD_BROKEN:
		registry_tell(record);
		return 0;
	}
	if (!list->as_json)
		return add_row(list, record);
	list->status = print_object(list, record);
	return list->status;
}

/* Prints what is to be printed behind all records. */
static int
print_end(struct list *list)
{
	char end[] = "[]\n";
	struct line line = { .text = end, .length = sizeof(end) - 1 };

	if (!list->as_json)
		return print_table(list);
	if (list->has_begun)
		memcpy(end, "\n]\n", sizeof(end));
	return print_line(&line);
}

static int
print_all(struct list *list, int directory_fd)
{
	int result = 0;

	if (list->as_json) {
		list->object.text = malloc(OBJECT_SIZE);
		list->object.size = OBJECT_SIZE;
		result = list->object.text == NULL ? -1 : 0;
	} else {
		result = add_header(list);
	}
	if (result == 0 && directory_fd != -1)
		result = registry_visit_all(directory_fd, visit, list);
	if (result == -1) {
		message("cannot read the registry: %s", strerror(errno));
		return STATUS_FAILED;
	}
	return list->status == EXIT_SUCCESS ? print_end(list) : list->status;
}

int
list_print(const char *registry, bool as_json)
{
	struct list list = {
		.as_json = as_json,
		.now = duration_now(),
		.table = { .columns = COLUMN_COUNT },
	};
	const int directory_fd = registry_open(registry, false);

	/* What is not there has nothing on record; but who has named it may
	 * have meant another. */
	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd == -1 && registry != NULL)
		message("registry '%s': %s", registry, strerror(errno));

	const int status = print_all(&list, directory_fd);

	free(list.object.text);
	table_free(&list.table);
	if (directory_fd != -1)
		(void)close(directory_fd);
	return status;
}
