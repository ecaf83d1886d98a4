/* What --list prints. */
#include "registry/list.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/json.h"
#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "registry/record.h"

#define GAP          2  /* blanks between columns */
#define NARROW_WIDTH 60 /* of a terminal: below, a run has two lines */
#define INDENT       "  "
#define PID_SIZE     16

enum { NAME, ID, STATE, AGE, LEFT, COMMAND, COLUMN_COUNT };

static const char *const header[COLUMN_COUNT] = {
	"NAME", "ID", "STATE", "AGE", "LEFT", "COMMAND",
};

struct list {
	bool as_json;
	int64_t now;
	size_t width;                 /* of the terminal, or SIZE_MAX */
	size_t columns[COLUMN_COUNT]; /* their widths */
	size_t count;                 /* of the runs */
	struct strbuf text; /* JSON without its end; or cells, row by row, each
	                     * ended by a null byte */
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

static void
add_cells(struct list *list, const char *const cells[COLUMN_COUNT])
{
	struct strbuf *const text = &list->text;

	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		const size_t start = text->length;
		size_t count;

		strbuf_addf(text, "%s%c", cells[i], '\0');
		if (text->is_cut)
			return;
		utf8_make_printable(text->text + start, strlen(cells[i]));
		(void)utf8_columns(text->text + start, list->width / 4, &count);
		if (count > list->columns[i])
			list->columns[i] = count;
	}
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

static void
add_run(struct list *list, const struct record *record)
{
	const struct entry *const entry = &record->entry;
	char id[PID_SIZE];
	char age[DURATION_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE];
	char text[ENTRY_COMMAND_MAX + sizeof("...")];
	struct strbuf command = { .text = text, .size = sizeof(text) };

	/* The PID of the front, which is enough for --cancel. */
	(void)strbuf_format(id, sizeof(id), "%.*s",
	                    (int)strcspn(entry->id, "-"), entry->id);
	add_command(&command, &entry->command);

	const char *const cells[COLUMN_COUNT] = {
		[NAME] = entry->name == NULL ? "-" : entry->name,
		[ID] = id,
		[STATE] = record_state_name(record->state),
		[AGE] = duration_format_short(age_of(entry, list->now), age),
		[LEFT] = duration_format_short(left_of(entry, list->now), left),
		[COMMAND] = text,
	};

	add_cells(list, cells);
}

/* Appends the row that begins with CELL. Returns the cell behind the row. */
static const char *
add_row(struct strbuf *rows, const char *cell, const struct list *list)
{
	const bool is_narrow = list->width < NARROW_WIDTH;
	size_t start = 0; /* of the column */
	size_t end = 0;   /* of what the line has so far */

	for (size_t i = 0; i < COLUMN_COUNT; i++, cell += strlen(cell) + 1) {
		size_t width = list->columns[i];
		size_t count;

		if (is_narrow && i == AGE)
			continue;
		if (is_narrow && i == COMMAND) {
			strbuf_addf(rows, "\n" INDENT);
			start = end = strlen(INDENT);
		}
		if (i == COMMAND)
			width = list->width > start ? list->width - start : 0;
		for (; end < start; end++)
			strbuf_addf(rows, " ");

		const size_t length = utf8_columns(cell, width, &count);

		strbuf_addf(rows, "%.*s", (int)length, cell);
		end += count;
		start += width + GAP;
	}
	strbuf_addf(rows, "\n");
	return cell;
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
		paths[i] = cleanups->files[i].path;
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
	add_number(line, "target", entry->target.pid,
	           record->state != RECORD_WAITING);
	json_add_number(line, "started", entry->started_at / SECOND);
	json_add_number(line, "age", age_of(entry, now) / SECOND);
	add_number(line, "left", left / SECOND, left != NEVER);
	json_add_text(line, "directory", entry->directory);
	add_arguments(line, &entry->command);
	json_add_bool(line, "command_is_cut", entry->command.is_cut);
	add_files(line, entry);
	strbuf_addf(line, "}");
}

/* --- both ----------------------------------------------------------------- */

static void
add_record(struct list *list, const struct record *record)
{
	switch (record->state) {
	case RECORD_WAITING:
	case RECORD_RUNNING:
	case RECORD_STOPPING:
	case RECORD_ORPHANED:
	case RECORD_ELSEWHERE:
		list->count++;
		if (list->as_json)
			add_object(&list->text, record, list->now);
		else
			add_run(list, record);
		break;
	case RECORD_OLD:
		break;
	case RECORD_BROKEN:
		record_report(record);
		break;
	}
}

/* Adds all records in DIRECTORY_FD. Returns 0, or -1 after a message. */
static int
add_all(struct list *list, int directory_fd)
{
	struct record_walk walk;
	int result = record_walk_begin(&walk, directory_fd);

	while (result == 0 && (result = record_walk_next(&walk)) == 1) {
		add_record(list, &walk.record);
		result = 0;
	}
	if (result == -1)
		record_walk_report(&walk);
	record_walk_end(&walk);
	return result;
}

/* Prints all of LIST. Returns the status to exit with. */
static int
print(struct list *list)
{
	struct strbuf rows = { .grows = true };
	struct strbuf *const whole = list->as_json ? &list->text : &rows;
	const char *cell = list->text.text;
	int status = STATUS_FAILED;

	if (list->as_json)
		strbuf_addf(whole, list->count == 0 ? "[]\n" : "\n]\n");
	else if (!list->text.is_cut)
		while (cell < list->text.text + list->text.length)
			cell = add_row(whole, cell, list);
	if (list->text.is_cut || rows.is_cut)
		message("cannot list the registry: %s", strerror(ENOMEM));
	else
		status = message_print(whole);
	strbuf_free(&rows);
	return status;
}

int
list_print(const char *registry, bool as_json, bool is_quiet)
{
	char path[PATH_MAX];
	struct strbuf directory = { .text = path, .size = sizeof(path) };
	struct winsize size = { .ws_col = 0 };
	struct list list = {
		.as_json = as_json,
		.now = duration_now(),
		.text = { .grows = true },
	};
	const int directory_fd = registry_open(registry, false);
	int status = STATUS_FAILED;

	/* A registry that does not exist has no records. But if --registry
	 * named it, the name may be wrong: a message below tells. */
	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	list.width = size.ws_col > 0 ? size.ws_col : SIZE_MAX;
	if (!as_json)
		add_cells(&list, header);
	/* Printed only when all is read, so that no output is incomplete. */
	if (directory_fd == -1 || add_all(&list, directory_fd) == 0)
		status =
		    as_json || list.count > 0 ? print(&list) : EXIT_SUCCESS;
	if (directory_fd == -1 && registry != NULL)
		message("registry '%s': %s", registry, strerror(ENOENT));
	else if (status == EXIT_SUCCESS && list.count == 0 && !as_json &&
	         !is_quiet && registry_find(&directory, registry) == 0)
		message("no runs on record in %s (--name or --registry puts a "
		        "run there)",
		        path);
	strbuf_free(&list.text);
	fds_close(directory_fd);
	return status;
}
