/* What --list prints. */
#include "registry/list.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/json.h"
#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "registry/record.h"

#define COLUMN_COUNT 7
#define CELL_WIDTH   24 /* of IDs and names on a terminal */
#define PID_SIZE     16

static const char *const header[COLUMN_COUNT] = {
	"ID", "NAME", "STATE", "PID", "AGE", "LEFT", "COMMAND",
};

struct list {
	bool as_json;
	int64_t now;
	struct table table;
	struct strbuf json; /* an array, without its end */
};

static int64_t
age_of(const struct entry *entry, int64_t now)
{
	/* In another time namespace the clock may be behind:
	 * time_namespaces(7). */
	return now > entry->started ? now - entry->started : 0;
}

/* How much time is left, or NEVER. */
static int64_t
left_of(const struct entry *entry, int64_t now)
{
	const int64_t end = duration_add(entry->started, entry->timeout);

	if (end == NEVER)
		return NEVER;
	return end > now ? end - now : 0;
}

/* --- the table ------------------------------------------------------------ */

/* Returns 0, or -1 with errno. */
static int
add_cells(struct table *table, const char *const cells[COLUMN_COUNT])
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		if (table_add(table, cells[i]) == -1)
			return -1;
	}
	return 0;
}

static void
add_command(struct strbuf *line, const struct entry_command *command)
{
	const char *argument = command->text;

	for (size_t i = 0; i < command->count; i++) {
		strbuf_addf(line, i == 0 ? "%s" : " %s", argument);
		argument += strlen(argument) + 1;
	}
	if (command->is_cut)
		strbuf_addf(line, "...");
}

static int
add_row(struct table *table, const struct record *record, int64_t now)
{
	const struct entry *const entry = &record->entry;
	char pid[PID_SIZE] = "-";
	char age[DURATION_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE];
	char text[ENTRY_COMMAND_MAX + sizeof("...")];
	struct strbuf command = { .text = text, .size = sizeof(text) };

	if (entry->front.pid != 0)
		(void)strbuf_format(pid, sizeof(pid), "%d", entry->front.pid);
	add_command(&command, &entry->command);

	const char *const cells[COLUMN_COUNT] = {
		entry->id,
		entry->name == NULL ? "-" : entry->name,
		record_state_name(record->state),
		pid,
		duration_format_short(age_of(entry, now), age),
		duration_format_short(left_of(entry, now), left),
		text,
	};

	return add_cells(table, cells);
}

static int
print_table(const struct table *table)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return table_print(table, size.ws_col, CELL_WIDTH);
	return table_print(table, SIZE_MAX, SIZE_MAX);
}

/* --- JSON ----------------------------------------------------------------- */

static void
add_number(struct strbuf *line, const char *key, int64_t number, bool is_known)
{
	if (is_known)
		json_add_number(line, key, number);
	else
		json_add_text(line, key, NULL);
}

static void
add_arguments(struct strbuf *line, const struct entry_command *command)
{
	const char *argument = command->text;

	json_add_key(line, "command");
	strbuf_addf(line, "[");
	for (size_t i = 0; i < command->count; i++) {
		json_add_comma(line);
		json_add_string(line, argument);
		argument += strlen(argument) + 1;
	}
	strbuf_addf(line, "]");
}

static void
add_files(struct strbuf *line, const struct entry *entry)
{
	const struct entry_cleanups *const cleanups = &entry->cleanups;
	const char *paths[ENTRY_FILES_MAX];

	for (size_t i = 0; i < cleanups->count; i++)
		paths[i] = cleanups->files[i].at.path;
	json_add_strings(line, "locks", entry->locks.count, entry->locks.paths);
	json_add_strings(line, "cleanup", cleanups->count, paths);
}

static void
add_object(struct strbuf *line, const struct record *record, int64_t now)
{
	const struct entry *const entry = &record->entry;
	const int64_t left = left_of(entry, now);

	strbuf_addf(line, line->length == 0 ? "[\n{" : ",\n{");
	json_add_text(line, "id", entry->id);
	json_add_text(line, "name", entry->name);
	json_add_text(line, "state", record_state_name(record->state));
	add_number(line, "pid", entry->front.pid, entry->front.pid != 0);
	json_add_number(line, "supervisor", entry->supervisor.pid);
	json_add_number(line, "target", entry->target.pid);
	json_add_number(line, "started", entry->started_at / SECOND);
	json_add_number(line, "age", age_of(entry, now) / SECOND);
	add_number(line, "left", left / SECOND, left != NEVER);
	json_add_text(line, "directory", entry->directory);
	add_arguments(line, &entry->command);
	json_add_bool(line, "command_is_cut", entry->command.is_cut);
	add_files(line, entry);
	strbuf_addf(line, "}");
}

static int
print_json(struct strbuf *json)
{
	strbuf_addf(json, json->length == 0 ? "[]\n" : "\n]\n");
	if (!json->is_cut)
		return message_print(json);
	message("cannot list the registry: %s", strerror(ENOMEM));
	return STATUS_FAILED;
}

/* --- both ----------------------------------------------------------------- */

static int
add_record(struct list *list, const struct record *record)
{
	switch (record->state) {
	case RECORD_RUNNING:
	case RECORD_STOPPING:
	case RECORD_ORPHANED:
	case RECORD_ELSEWHERE:
		if (!list->as_json)
			return add_row(&list->table, record, list->now);
		add_object(&list->json, record, list->now);
		return 0;
	case RECORD_OLD:
		break;
	case RECORD_BROKEN:
		record_report(record);
		break;
	}
	return 0;
}

/* Adds all records in DIRECTORY_FD. Returns 0, or -1 after a message. */
static int
add_all(struct list *list, int directory_fd)
{
	struct record_walk walk;
	int result = record_walk_begin(&walk, directory_fd);

	while (result == 0 && (result = record_walk_next(&walk)) == 1)
		result = add_record(list, &walk.record);
	if (result == -1)
		record_walk_report(&walk);
	record_walk_end(&walk);
	return result;
}

int
list_print(const char *registry, bool as_json)
{
	struct list list = {
		.as_json = as_json,
		.now = duration_now(),
		.table = { .columns = COLUMN_COUNT },
		.json = { .grows = true },
	};
	const int directory_fd = registry_open(registry, false);
	int status = STATUS_FAILED;

	/* A registry that does not exist has no records. But the user may have
	 * meant another than the one of --registry. */
	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd == -1 && registry != NULL)
		message("registry '%s': %s", registry, strerror(errno));

	/* Nothing is printed before all is read: no output is incomplete. */
	if (add_cells(&list.table, header) == -1)
		message("cannot list the registry: %s", strerror(errno));
	else if (directory_fd == -1 || add_all(&list, directory_fd) == 0)
		status =
		    as_json ? print_json(&list.json) : print_table(&list.table);
	strbuf_free(&list.json);
	table_free(&list.table);
	if (directory_fd != -1)
		(void)close(directory_fd);
	return status;
}
