/* Entries of the registry: any bytes are read or refused. */
#include "registry/registry.h"

#include "check.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* With exactly this size, so that a read beyond it is seen. */
	struct entry entry = { .text = calloc(1, size + 1), .size = size };
	const char *word = NULL;

	assert(entry.text != NULL);
	if (size > 0)
		memcpy(entry.text, data, size);
	if (entry_parse(&entry)) {
		while ((word = entry_value(&entry, "arg", word)) != NULL)
			assert(word + strlen(word) < entry.text + size);
	}
	free(entry.text);
	return 0;
}

#ifndef FUZZ
#define HEAD   "wdrun 4\nhost m b 1\n"
#define ARG    "arg a\n"
#define FRONT  "front 1 11 6 7\n"
#define WHOLE  HEAD ARG FRONT
#define TARGET "supervisor 2 22 5\n"

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
	{ WHOLE "supervisor 2 22 5", true }, /* no supervisor */

	{ "", false },
	{ "wdrun 4\n", false },
	{ HEAD, false },
	{ HEAD ARG, false },
	{ HEAD ARG "front 1 11 6 7", false },
	{ "\n", false },
	{ "wdrun", false },
	{ "wdrun 4", false },
	{ "wdrun 1\n", false },
	{ "wdrun 42\n", false },
	{ " " WHOLE, false },
	{ HEAD FRONT, false },
	{ "wdrun 4\n" ARG FRONT, false },
	{ HEAD ARG "front -1 11\n", false },
};

static void
check_text(const char *text, bool is_entry)
{
	char copy[2048];
	struct entry entry = { .text = copy, .size = strlen(text) };

	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (size_t i = 0; i < strlen(text); i++)
		if (copy[i] == '\n')
			copy[i] = '\0';
	CHECK(entry_parse(&entry) == is_entry, text);
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

static void
check_values(void)
{
	char text[] = "wdrun 4\0host m b 1\0name a\nb\0file 7 8 /c d\0arg e\0"
	              "arg \0front 1 11 6 9\0file 0 /g\0supervisor 2 22 5\0";
	struct entry entry = { .text = text, .size = sizeof(text) - 1 };
	const char *value;

	CHECK(entry_parse(&entry), "values");
	CHECK(strcmp(entry_value(&entry, "host", NULL), "m b 1") == 0, "host");
	CHECK(strcmp(entry_value(&entry, "name", NULL), "a\nb") == 0, "name");
	value = entry_value(&entry, "file", NULL);
	CHECK(strcmp(value, "7 8 /c d") == 0, "file");
	value = entry_value(&entry, "file", value);
	CHECK(strcmp(value, "0 /g") == 0, "the second file");
	CHECK(entry_value(&entry, "file", value) == NULL, "no third file");
	value = entry_value(&entry, "arg", NULL);
	CHECK(strcmp(value, "e") == 0, "arg");
	CHECK(*entry_value(&entry, "arg", value) == '\0', "the second arg");
	CHECK(entry.keep == NULL, "keep");
	CHECK(entry.front.pid == 1 && entry.front.start == 11, "front");
	CHECK(entry.kill_after == 9, "front");
	CHECK(entry.supervisor.start == 22 && entry.until == 5, "supervisor");
}

int
main(void)
{
	check_values();
	for (size_t i = 0; i < COUNT(rows); i++)
		check_text(rows[i].text, rows[i].is_entry);
	check_cut_off();
	replay(LLVMFuzzerTestOneInput, "tests/fuzz/corpus/entry/*");
	return failures != 0;
}
#endif
