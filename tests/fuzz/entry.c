/*
 * Any bytes as an entry of the registry: they are read or refused; and what was
 * read is what it was when it is written and read again.
 */
#include "../../src/entry.h"

#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX (ENTRY_COMMAND_MAX + 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process where CLAIM does not hold: a crash, with its input. */
static void
require(bool claim)
{
	if (!claim)
		abort();
}

static bool
is_same_text(const char *one, const char *other)
{
	if (one == NULL || other == NULL)
		return one == other;
	return strcmp(one, other) == 0;
}

static bool
is_same_process(const struct identity *one, const struct identity *other)
{
	return one->pid == other->pid && one->start == other->start;
}

static size_t
command_size(const struct entry *entry)
{
	size_t size = 0;

	for (size_t i = 0; i < entry->argument_count; i++)
		size += strlen(entry->command + size) + 1;
	return size;
}

static void
require_same_files(const struct entry *one, const struct entry *other)
{
	require(one->lock_count == other->lock_count);
	for (size_t i = 0; i < one->lock_count; i++)
		require(is_same_text(one->locks[i], other->locks[i]));
	require(one->cleanup_count == other->cleanup_count);
	for (size_t i = 0; i < one->cleanup_count; i++) {
		const struct entry_cleanup *const left = &one->cleanups[i];
		const struct entry_cleanup *const right = &other->cleanups[i];

		require(is_same_text(left->path, right->path));
		require(left->before.device == right->before.device);
		require(left->before.inode == right->before.inode);
		require(left->before.birth == right->before.birth);
	}
}

static void
require_same(const struct entry *one, const struct entry *other)
{
	const size_t size = command_size(one);

	require(is_same_text(one->id, other->id));
	require(is_same_text(one->name, other->name));
	require(is_same_text(one->boot, other->boot));
	require(one->pid_namespace == other->pid_namespace);
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
	require(one->argument_count == other->argument_count);
	require(size == command_size(other));
	require(memcmp(one->command, other->command, size) == 0);
	require(one->is_cut == other->is_cut);
}

/* The command of ENTRY as entry_format takes it. */
static void
list_arguments(const struct entry *entry, char *arguments[ARGUMENTS_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < entry->argument_count; i++) {
		arguments[i] = (char *)entry->command + at;
		at += strlen(arguments[i]) + 1;
	}
	arguments[entry->argument_count] = NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *arguments[ARGUMENTS_MAX];
	/* On the heap, and no larger than promised: it is seen if more is
	 * touched. */
	char *const text = malloc(size + 1);
	char *const again = malloc(ENTRY_TEXT_MAX);
	struct line line = { .text = again, .size = ENTRY_TEXT_MAX };
	struct entry entry;
	struct entry reread;

	require(text != NULL && again != NULL);
	if (size > 0)
		memcpy(text, data, size);
	/* Nearly as large as can be, it may not fit when written: what says
	 * that it was cut needs room in any case. */
	if (entry_parse(text, size, &entry) == 0 &&
	    size < ENTRY_TEXT_MAX - 16) {
		list_arguments(&entry, arguments);
		require(entry_format(&line, &entry, arguments) == 0);
		require(entry_parse(again, line.length, &reread) == 0);
		require_same(&entry, &reread);
	}
	free(again);
	free(text);
	return 0;
}
