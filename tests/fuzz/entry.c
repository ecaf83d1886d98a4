/*
 * Any bytes as an entry of the registry: they are read or refused; and what was
 * read is the same when it is written and read again.
 */
#include "registry/registry.h"

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
require_same_entries(const struct entry *one, const struct entry *other)
{
	require(is_same_text(one->host, other->host));
	require(is_same_text(one->name, other->name));
	require(one->until == other->until);
	require(one->kill_after == other->kill_after);
	require(is_same_process(&one->front, &other->front));
	require(is_same_process(&one->supervisor, &other->supervisor));
	require(one->session == other->session);
	require(one->file_count == other->file_count);
	for (size_t i = 0; i < one->file_count; i++) {
		require(one->files[i].path[0] == '/');
		require(is_same_text(one->files[i].path, other->files[i].path));
		require(one->files[i].before == other->files[i].before);
	}

	const char *word = one->command;
	const char *others = other->command;

	for (; word != NULL && others != NULL; word = entry_next_word(word)) {
		require(is_same_text(word, others));
		others = entry_next_word(others);
	}
	require(word == others);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = calloc(1, size + 1);
	static char *words[65536];
	struct strbuf line = { .grows = true };
	static struct entry entry;
	static struct entry reread;
	size_t count = 0;

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	if (entry_parse(text, size, &entry) == 1) {
		for (const char *at = entry.command;
		     at != NULL && count < 65535; at = entry_next_word(at))
			words[count++] = strdup(at);
		words[count] = NULL;
		entry_format(&line, &entry, words);
		entry.file_count = 0; /* they are written already */
		entry_format_target(&line, &entry);
		require(entry_parse(line.text, line.length, &reread) == 1);
		entry.file_count = reread.file_count;
		if (count < 65535)
			require_same_entries(&entry, &reread);
	}
	while (count > 0)
		free(words[--count]);
	free(line.text);
	free(text);
	return 0;
}
