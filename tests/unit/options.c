/* Each row of the table of options fills its own field, and no other. */
#include "cli/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "watchdog.h"

/* For each metavar a value that is not a default, and the size of its field. */
static const struct {
	const char *metavar;
	const char *value;
	size_t size;
} samples[] = {
	{ "", "", sizeof(bool) },
	{ "DUR", "7", sizeof(int64_t) },
	{ "SIG", "INT", sizeof(int) },
	{ "CODE", "7", sizeof(int) },
	{ "kill|wait|leave", "leave", sizeof(enum survivors) },
	{ "TEXT", "word", sizeof(char *) },
	{ "NAME", "word", sizeof(char *) },
	{ "FILE", "word", sizeof(char *) }, /* or how many there are */
	{ "DIR", "word", sizeof(char *) },
	{ "RUN", "word", sizeof(char *) },
};

#define SAMPLE_COUNT (sizeof(samples) / sizeof(samples[0]))

/* The sample for the argument of ROW. */
static size_t
sample_for(const struct option_row *row)
{
	const char *const metavar =
	    row->kind->metavar == NULL ? "" : row->kind->metavar;
	size_t i = 0;

	while (i < SAMPLE_COUNT && strcmp(samples[i].metavar, metavar) != 0)
		i++;
	CHECK(i < SAMPLE_COUNT, metavar);
	return i % SAMPLE_COUNT;
}

static const struct option_row *
row_of(const char *name)
{
	const struct option_row *row = options_table.rows;

	while (strcmp(row->name, name) != 0)
		row++;
	return row;
}

/* Puts ROW with its sample into TEXT, as an argument. */
static void
write_option(const struct option_row *row, char text[64])
{
	(void)snprintf(text, 64, "--%s%s%s", row->name,
	               row->kind->metavar == NULL ? "" : "=",
	               samples[sample_for(row)].value);
}

static bool
field_changed(const struct option_row *row, const struct options *before,
              const struct options *after)
{
	return memcmp((const char *)before + row->field,
	              (const char *)after + row->field,
	              samples[sample_for(row)].size) != 0;
}

static int
read_words(struct options *options, int count, char *words[])
{
	return options_read(options, count, words);
}

static void
check_row(const struct option_row *row, const struct options *defaults)
{
	char name[] = "wdrun";
	char command[] = "command";
	char option[64];
	char partner[64];
	char *words[5] = { name };
	int count = 1;
	struct options options;

	write_option(row, option);
	words[count++] = option;
	if (row->needs != NULL) {
		write_option(row_of(row->needs), partner);
		words[count++] = partner;
	}
	if (strstr("list json cancel reap", row->name) == NULL)
		words[count++] = command;
	CHECK(read_words(&options, count, words) == OPTIONS_ARE_COMPLETE,
	      row->name);
	CHECK(field_changed(row, defaults, &options), row->name);
	for (size_t i = 0; i < options_table.count; i++) {
		const struct option_row *const other = &options_table.rows[i];
		const bool is_meant =
		    other == row ||
		    (row->needs != NULL && other == row_of(row->needs)) ||
		    (strcmp(row->name, "no-stdin") == 0 &&
		     strcmp(other->name, "setsid") == 0);

		if (other->kind->read != NULL && !is_meant)
			CHECK(!field_changed(other, defaults, &options),
			      row->name);
	}
}

/* Of two options that clear each other, the last one counts. */
static void
check_clearing(void)
{
	char name[] = "wdrun";
	char loud[] = "-v";
	char quiet[] = "-q";
	char command[] = "command";
	char *words[] = { name, loud, quiet, command, NULL };
	struct options options;

	CHECK(read_words(&options, 4, words) == OPTIONS_ARE_COMPLETE, "-vq");
	CHECK(options.quiet && !options.verbose, "-vq");
	words[1] = quiet;
	words[2] = loud;
	CHECK(read_words(&options, 4, words) == OPTIONS_ARE_COMPLETE, "-qv");
	CHECK(!options.quiet && options.verbose, "-qv");
}

/* An empty argv, as only an old kernel permits it. */
static void
check_no_name(void)
{
	/* On the heap, so that a read beyond it is seen. */
	char **const words = calloc(1, sizeof(*words));
	struct options options;

	CHECK(options_read(&options, 0, words) == STATUS_FAILED, "no name");
	free(words);
}

int
main(void)
{
	char name[] = "wdrun";
	char command[] = "command";
	char *words[] = { name, command, NULL };
	struct options defaults;

	check_no_name();
	CHECK(read_words(&defaults, 2, words) == OPTIONS_ARE_COMPLETE, "none");
	for (size_t i = 0; i < options_table.count; i++) {
		if (options_table.rows[i].kind->read != NULL)
			check_row(&options_table.rows[i], &defaults);
	}
	check_clearing();
	return failures != 0;
}
