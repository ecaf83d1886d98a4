/* Reads a command line by a table of options, with getopt_long(3). */
#include "cli/command_line.h"

#include <getopt.h>
#include <string.h>

#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"

/* For the long option of row N, getopt_long(3) returns LONG_OPTION + N. */
#define LONG_OPTION 256

#define SHOWN_MAX 255 /* bytes of a value that a message shows */

static int
read_flag(const struct option_row *row, void *field, const char *text)
{
	(void)row;
	(void)text;
	*(bool *)field = true;
	return OPTIONS_ARE_COMPLETE;
}

const struct option_kind option_flag = { .read = read_flag };
const struct option_kind option_help = { .read = NULL };
const struct option_kind option_version = { .read = NULL };

/* The row of the option for which getopt_long(3) returned ID. */
static const struct option_row *
find_row(const struct option_table *table, int id)
{
	const struct option_row *row = table->rows;

	if (id >= LONG_OPTION)
		return &row[id - LONG_OPTION];
	while (row->letter != id)
		row++;
	return row;
}

/* Prints, in the words of glibc's getopt_long(3), what is wrong with OPTION,
 * for which getopt_long(3) returned FOUND. */
static int
refuse_option(const struct option_table *table, int found, const char *option)
{
	/* musl sets optopt to a wide character, for a letter beyond ASCII. */
	const bool is_long =
	    optopt >= LONG_OPTION && optopt < LONG_OPTION + (int)table->count;
	const char *const name =
	    is_long ? table->rows[optopt - LONG_OPTION].name : "";

	if (is_long)
		message("option '--%s' %s (see %s --help)", name,
		        found == ':' ? "requires an argument"
		                     : "doesn't allow an argument",
		        table->program);
	else if (found == ':')
		message("option requires an argument -- '%c' (see %s --help)",
		        optopt, table->program);
	else if (optopt != 0)
		message("invalid option -- '%c' (see %s --help)", optopt,
		        table->program);
	else
		message("unrecognized option '%s' (or ambiguous; see %s "
		        "--help)",
		        option, table->program);
	return STATUS_FAILED;
}

int
command_line_refuse(const struct option_row *row, const char *text)
{
	message("--%s: '%s' is not %s", row->name,
	        strlen(text) > SHOWN_MAX ? "(too long)" : text,
	        row->kind->accepted);
	return STATUS_FAILED;
}

/* Describes the options of TABLE to getopt_long(3), in LETTERS and LONGS. */
static void
describe(const struct option_table *table, char *letters, struct option *longs)
{
	*letters++ = '+'; /* stop at the first operand */
	*letters++ = ':'; /* tell a missing argument from an unknown option */
	for (size_t i = 0; i < table->count; i++) {
		const struct option_row *const row = &table->rows[i];
		const bool has_argument = row->kind->metavar != NULL;

		longs[i] = (struct option){
			.name = row->name,
			.has_arg =
			    has_argument ? required_argument : no_argument,
			.val = LONG_OPTION + (int)i,
		};
		if (row->letter != 0)
			*letters++ = row->letter;
		if (row->letter != 0 && has_argument)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[table->count] = (struct option){ .name = NULL };
}

/* "  -t, --timeout=DUR              stop COMMAND after DUR (never)" */
static void
add_help(struct strbuf *help, const struct option_row *row)
{
	const char *const metavar = row->kind->metavar;
	char name[64];

	(void)strbuf_format(name, sizeof(name), "%s%s%s", row->name,
	                    metavar == NULL ? "" : "=",
	                    metavar == NULL ? "" : metavar);
	if (row->letter != 0)
		strbuf_addf(help, "  -%c, ", row->letter);
	else
		strbuf_addf(help, "      ");
	strbuf_addf(help, "--%-26s %s\n", name, row->help);
}

/* Prints the help, or else the version. Not inlined, or each run would touch
 * the stack pages of the text. */
__attribute__((noinline)) static int
print_text(const struct option_table *table, bool is_help)
{
	char bytes[4096];
	struct strbuf text = { .text = bytes, .size = sizeof(bytes) };

	strbuf_addf(&text, "%s", is_help ? table->usage : table->version);
	for (size_t i = 0; is_help && i < table->count; i++)
		add_help(&text, &table->rows[i]);
	strbuf_addf(&text, "%s", is_help ? table->notes : "\n");
	return message_print(&text);
}

static int
take_option(struct command_line *line, const struct option_row *row,
            struct options *options)
{
	char *const fields = (char *)options;

	if (row->kind == &option_help || row->kind == &option_version)
		return print_text(line->table, row->kind == &option_help);
	if (row->clears != 0)
		*(bool *)(fields + row->clears) = false;
	line->given |= UINT64_C(1) << (row - line->table->rows);
	return row->kind->read(row, fields + row->field, optarg);
}

int
command_line_read(struct command_line *line, struct options *options)
{
	char letters[2 * OPTION_ROWS_MAX + 3];
	struct option longs[OPTION_ROWS_MAX + 1];
	int id;

	describe(line->table, letters, longs);
	opterr = 0;
	while ((id = getopt_long(line->argc, line->argv, letters, longs,
	                         NULL)) != -1) {
		if (id == '?' || id == ':')
			return refuse_option(line->table, id,
			                     line->argv[optind - 1]);

		const int status =
		    take_option(line, find_row(line->table, id), options);

		if (status != OPTIONS_ARE_COMPLETE)
			return status;
	}
	return OPTIONS_ARE_COMPLETE;
}
