/*
 * Entries of the registry: what is read, what is refused, what is unfinished.
 * Any bytes are read or refused; and what was read is the same when it is
 * written and read again.
 */
#include "registry/registry.h"

#include "base/duration.h"
#include "check.h"

#define WORDS_MAX 65536

/* Appends all of ENTRY to TEXT. */
static void
write_entry(struct strbuf *text, struct entry entry)
{
	static char *words[WORDS_MAX + 1];
	size_t count = 0;

	for (const char *at = entry.command; at != NULL && count < WORDS_MAX;
	     at = entry_next_word(at))
		words[count++] = (char *)at;
	words[count] = NULL;
	entry_format(text, &entry, words);
	entry.file_count = 0; /* they are written already */
	entry_format_target(text, &entry);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	char *const text = calloc(1, size + 1);
	struct strbuf parsed = { .grows = true }; /* which changes it */
	struct strbuf once = { .grows = true };
	struct strbuf twice = { .grows = true };
	struct entry entry;
	struct entry same;

	assert(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	if (entry_parse(text, size, &entry)) {
		write_entry(&parsed, entry);
		write_entry(&once, entry);
		assert(entry_parse(parsed.text, parsed.length, &same));
		write_entry(&twice, same);
		assert(once.length == twice.length);
		assert(memcmp(once.text, twice.text, once.length) == 0);
		assert(same.until == entry.until);
		assert(same.kill_after == entry.kill_after);
		assert(same.session == entry.session);
		assert(same.front.start == entry.front.start);
		assert(same.supervisor.start == entry.supervisor.start);
		assert(same.file_count == entry.file_count);
	}
	free(parsed.text);
	free(once.text);
	free(twice.text);
	free(text);
	return 0;
}

#ifndef FUZZ
#define HEAD   "wdrun 2\nhost m b 1\n"
#define ARG    "arg a\n"
#define FRONT  "front 1 11 6 7\n"
#define WHOLE  HEAD ARG FRONT
#define TARGET "target 2 22 2 5\n"

/* With newlines in the place of the null bytes. */
static const struct {
	const char *text;
	bool is_entry;
} rows[] = {
	{ WHOLE, true },
	{ WHOLE TARGET, true },
	{ HEAD "arg \n" FRONT, true },
	{ HEAD "name n\nfile 1 /l\nfile 2 /m\n" ARG FRONT, true },
	{ HEAD "name \xff\xfe\x80\n" ARG FRONT, true },
	{ WHOLE "file 3 /a file\nfile 0 /b\n" TARGET, true },
	{ HEAD "later\nlater 2\nidentity 5\n" ARG FRONT "later\n", true },
	{ WHOLE "target 2 22 2 5", true }, /* no target */

	{ "", false },
	{ "wdrun 2\n", false },
	{ HEAD, false },
	{ HEAD ARG, false },
	{ HEAD ARG "front 1 11 6 7", false },
	{ "\n", false },
	{ "wdrun", false },
	{ "wdrun 2", false },
	{ "wdrun 1\n", false },
	{ "wdrun 22\n", false },
	{ " " WHOLE, false },
	{ HEAD FRONT, false },
	{ "wdrun 2\n" ARG FRONT, false },
	{ HEAD ARG "front -1 11\n", false },
};

static void
check_text(const char *text, bool is_entry)
{
	char copy[2048];
	struct entry entry;

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (size_t i = 0; i < strlen(text); i++)
		if (copy[i] == '\n')
			copy[i] = '\0';
	CHECK(entry_parse(copy, strlen(text), &entry) == is_entry, text);
}

/* No entry is read that is cut off anywhere; but the target's part may be
 * missing. */
static void
check_cut_off(void)
{
	char text[] = WHOLE;

	for (size_t i = strlen(WHOLE); i-- > strlen(HEAD);) {
		text[i] = '\0';
		check_text(text, false);
	}
}

int
main(void)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(rows[i].text, rows[i].is_entry);
	check_cut_off();
	replay(LLVMFuzzerTestOneInput, "tests/fuzz/corpus/entry/*");
	return failures != 0;
}
#endif
