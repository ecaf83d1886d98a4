/*
 * Any bytes as an entry of the registry: they are read or refused; and what was
 * read is the same when it is written and read again.
 */
#include "registry/entry.h"

#include <string.h>

#include "target.h"

#define ARGUMENTS_MAX (ENTRY_COMMAND_MAX + 1)

static bool
is_same_text(const char *one, const char *other)
{
	if (one == NULL || other == NULL)
		return one == other;
	return strcmp(one, other) == 0;
}

static bool
is_same_process(const struct procid *one, const struct procid *other)
{
	return one->pid == other->pid && one->start == other->start;
}

static void
require_same_files(const struct entry *one, const struct entry *other)
{
	require(one->locks.count == other->locks.count);
	for (size_t i = 0; i < one->locks.count; i++) {
		require(one->locks.paths[i][0] == '/');
		require(
		    is_same_text(one->locks.paths[i], other->locks.paths[i]));
	}
	require(one->cleanups.count == other->cleanups.count);
	for (size_t i = 0; i < one->cleanups.count; i++) {
		const struct cleanup *const left = &one->cleanups.files[i];
		const struct cleanup *const right = &other->cleanups.files[i];

		require(left->path[0] == '/');
		require(is_same_text(left->path, right->path));
		require(left->before == right->before);
	}
}

void
require_same_entries(const struct entry *one, const struct entry *other)
{
	require(is_same_text(one->id, other->id));
	require(is_same_text(one->name, other->name));
	require(is_same_text(one->boot, other->boot));
	require(is_same_text(one->machine, other->machine));
	require(one->pid_namespace == other->pid_namespace);
	require(one->time_namespace == other->time_namespace);
	require(is_same_process(&one->front, &other->front));
	require(is_same_process(&one->supervisor, &other->supervisor));
	require(is_same_process(&one->target, &other->target));
	require(one->has_session == other->has_session);
	require(one->started == other->started);
	require(one->started_at == other->started_at);
	require(one->timeout == other->timeout);
	require(one->kill_after == other->kill_after);
	require(is_same_text(one->directory, other->directory));
	require_same_files(one, other);
	require(one->command.count == other->command.count);
	require(one->command.size == other->command.size);
	require(memcmp(one->command.text, other->command.text,
	               one->command.size) == 0);
	require(one->command.is_cut == other->command.is_cut);
}

/* The command of ENTRY, as entry_format takes it. */
static void
list_arguments(const struct entry *entry, char *arguments[ARGUMENTS_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < entry->command.count; i++) {
		arguments[i] = entry->command.text + at;
		at += strlen(arguments[i]) + 1;
	}
	arguments[entry->command.count] = NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *arguments[ARGUMENTS_MAX];
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = malloc(size + 1);
	char *const again = malloc(ENTRY_TEXT_MAX);
	struct strbuf line = { .text = again, .size = ENTRY_TEXT_MAX };
	struct entry entry;
	struct entry reread;

	require(text != NULL && again != NULL);
	if (size > 0)
		memcpy(text, data, size);
	/*
	 * An entry of almost the largest size may not fit when it is written:
	 * the mark that the command was cut takes space in any case.
	 */
	if (entry_parse(text, size, &entry) == 0 &&
	    size < ENTRY_TEXT_MAX - 16) {
		list_arguments(&entry, arguments);
		require(entry_format(&line, &entry, arguments) == 0);
		require(entry_parse(again, line.length, &reread) == 0);
		require_same_entries(&entry, &reread);
	}
	free(again);
	free(text);
	return 0;
}
