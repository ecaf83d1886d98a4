/* What --list prints. */
#include "registry/commands.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "registry/registry.h"

#define ROW "%-16s  %-7.*s  %-9s  %6s  %6s  "

struct list {
	bool as_json;
	int64_t now;  /* as duration_since_epoch(), which machines share */
	size_t width; /* of the terminal, or SIZE_MAX */
	size_t count; /* of the runs */
	struct strbuf text;
};

static int64_t
age_of(const struct entry *entry, int64_t now)
{
	return now > entry->started_at ? now - entry->started_at : 0;
}

/* How much time is left of --timeout, or while the run waits for its locks of
 * --lock-wait; or NEVER. */
static int64_t
left_of(const struct entry *entry, int64_t now)
{
	const int64_t end =
	    entry->target == 0
	        ? duration_add(entry->started_at, entry->lock_wait)
	        : duration_add(entry->target_started_at, entry->timeout);

	if (end == NEVER)
		return NEVER;
	return end > now ? end - now : 0;
}

/* Makes the row that begins at START fit for the terminal, and ends it. */
static void
end_row(struct list *list, size_t start)
{
	struct strbuf *const text = &list->text;

	if (text->is_cut)
		return;
	if (text->length - start > list->width) {
		text->length = start + list->width;
		text->text[text->length] = '\0';
	}
	utf8_make_printable(text->text + start);
	strbuf_addf(text, "\n");
}

static void
add_row(struct list *list, const struct registry_walk *walk)
{
	const struct entry *const entry = &walk->entry;
	const size_t start = list->text.length;
	char age[DURATION_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE];

	strbuf_addf(&list->text, ROW, entry->name == NULL ? "-" : entry->name,
	            (int)strcspn(walk->id, "-"), walk->id,
	            registry_state_name(walk->state),
	            duration_format_short(age_of(entry, list->now), age),
	            duration_format_short(left_of(entry, list->now), left));
	for (size_t i = 0; entry->command[i] != NULL; i++)
		strbuf_addf(&list->text, i == 0 ? "%s" : " %s",
		            entry->command[i]);
	if (entry->is_cut)
		strbuf_addf(&list->text, "...");
	end_row(list, start);
}

static void
add_number(struct strbuf *line, const char *key, int64_t number, bool is_known)
{
	if (is_known)
		json_add_number(line, key, number);
	else
		json_add_text(line, key, NULL);
}

static void
add_object(struct list *list, const struct registry_walk *walk)
{
	const struct entry *const entry = &walk->entry;
	struct strbuf *const line = &list->text;
	const bool has_target = entry->target != 0;
	const int64_t left = left_of(entry, list->now);
	const char *cleanups[ENTRY_FILES_MAX];
	size_t arguments = 0;

	for (size_t i = 0; i < entry->cleanup_count; i++)
		cleanups[i] = entry->cleanups[i].path;
	while (entry->command[arguments] != NULL)
		arguments++;
	strbuf_addf(line, list->count == 0 ? "[\n{" : ",\n{");
	json_add_text(line, "id", walk->id);
	json_add_text(line, "name", entry->name);
	json_add_text(line, "state", registry_state_name(walk->state));
	json_add_number(line, "pid", entry->front.pid);
	add_number(line, "supervisor", entry->supervisor.pid, has_target);
	add_number(line, "target", entry->target, has_target);
	json_add_number(line, "started", entry->started_at / SECOND);
	json_add_number(line, "age", age_of(entry, list->now) / SECOND);
	add_number(line, "left", left / SECOND, left != NEVER);
	json_add_text(line, "directory", entry->directory);
	json_add_strings(line, "command", arguments,
	                 (const char *const *)entry->command);
	json_add_key(line, "command_is_cut");
	strbuf_addf(line, entry->is_cut ? "true" : "false");
	json_add_strings(line, "locks", entry->lock_count, entry->locks);
	json_add_strings(line, "cleanup", entry->cleanup_count, cleanups);
	strbuf_addf(line, "}");
}

/* Adds all runs in DIRECTORY_FD. Returns 0, or -1 after a message. */
static int
add_all(struct list *list, int directory_fd)
{
	struct registry_walk walk = { .count = 0 };
	const int result = registry_begin(&walk, directory_fd);

	while (result == 0 && registry_next(&walk)) {
		if (walk.state > RUN_ELSEWHERE)
			continue;
		if (list->as_json)
			add_object(list, &walk);
		else
			add_row(list, &walk);
		list->count++;
	}
	registry_end(&walk);
	return result;
}

/* Prints LIST, which is complete. Returns the exit status. */
static int
print(struct list *list)
{
	if (list->as_json)
		strbuf_addf(&list->text, list->count == 0 ? "[]\n" : "\n]\n");
	else if (list->count == 0)
		return EXIT_SUCCESS;
	if (!list->text.is_cut)
		return message_print(&list->text);
	message("cannot list the registry: %s", strerror(ENOMEM));
	return STATUS_FAILED;
}

int
list_print(const char *registry, bool as_json, bool is_quiet)
{
	char path[PATH_MAX];
	struct strbuf directory = { .text = path, .size = sizeof(path) };
	struct winsize size = { .ws_col = 0 };
	struct list list = {
		.as_json = as_json,
		.now = duration_since_epoch(),
		.text = { .grows = true },
	};
	const int directory_fd = registry_open(registry, false);

	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	list.width = size.ws_col > 0 ? size.ws_col : SIZE_MAX;
	if (!as_json) {
		strbuf_addf(&list.text, ROW "COMMAND", "NAME", 2, "ID", "STATE",
		            "AGE", "LEFT");
		end_row(&list, 0);
	}

	const int result =
	    directory_fd == -1 ? 0 : add_all(&list, directory_fd);
	const int status = result == -1 ? STATUS_FAILED : print(&list);

	/* A registry that does not exist has no runs. But if --registry named
	 * it, the name may be wrong. */
	if (directory_fd == -1 && registry != NULL)
		message("registry '%s': %s", registry, strerror(ENOENT));
	else if (status == EXIT_SUCCESS && list.count == 0 && !as_json &&
	         !is_quiet && registry_find(&directory, registry) == 0)
		message("no runs on record in %s (--name or --registry puts a "
		        "run there)",
		        path);
	strbuf_free(&list.text);
	if (directory_fd != -1)
		(void)close(directory_fd);
	return status;
}
