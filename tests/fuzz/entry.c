/*
 * Any bytes as an entry of the registry: they are read or refused; and what was
 * read is the same when it is written and read again.
 */
#include "registry/entry.h"

#include <string.h>

#include "target.h"

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
	require(one->lock_count == other->lock_count);
	for (size_t i = 0; i < one->lock_count; i++) {
		require(one->locks[i][0] == '/');
		require(is_same_text(one->locks[i], other->locks[i]));
	}
	require(one->cleanup_count == other->cleanup_count);
	for (size_t i = 0; i < one->cleanup_count; i++) {
		const struct cleanup *const left = &one->cleanups[i];
		const struct cleanup *const right = &other->cleanups[i];

		require(left->path[0] == '/');
		require(is_same_text(left->path, right->path));
		require(left->before == right->before);
	}
}

void
require_same_entries(const struct entry *one, const struct entry *other)
{
	require(is_same_text(one->host, other->host));
	require(is_same_process(&one->front, &other->front));
	require(one->started_at == other->started_at);
	require(one->lock_wait == other->lock_wait);
	require(one->timeout == other->timeout);
	require(one->kill_after == other->kill_after);
	require(is_same_text(one->name, other->name));
	require(is_same_text(one->directory, other->directory));
	require(is_same_process(&one->supervisor, &other->supervisor));
	require(one->session == other->session);
	require(one->target_started_at == other->target_started_at);
	require(one->target == other->target);
	require_same_files(one, other);
	for (size_t i = 0; i == 0 || one->command[i - 1] != NULL; i++)
		require(is_same_text(one->command[i], other->command[i]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = malloc(size + 1);
	struct strbuf line = { .grows = true };
	static struct entry entry;
	static struct entry reread;

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (entry_parse(text, &entry) == 0) {
		entry_format(&line, &entry, entry.command);
		entry_format_target(&line, &entry);
		require(entry_parse(line.text, &reread) == 0);
		/* What was read may have more than is written of a command. */
		if (!reread.is_cut)
			require_same_entries(&entry, &reread);
	}
	strbuf_free(&line);
	free(text);
	return 0;
}
