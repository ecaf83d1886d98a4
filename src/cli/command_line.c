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

#define TYPOS_MAX 2

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

/* How many characters of the longer of NAME and the LENGTH bytes at WORD are
 * neither in their common start nor in their common end: small for a letter
 * that is missing, too much or wrong, and for two that are swapped. */
static size_t
count_differences(const char *name, const char *word, size_t length)
{
	const size_t size = strlen(name);
	const size_t shorter = size < length ? size : length;
	size_t start = 0;
	size_t end = 0;

	while (start < shorter && name[start] == word[start])
		start++;
	while (start + end < shorter &&
	       name[size - 1 - end] == word[length - 1 - end])
		end++;
	return size + length - shorter - start - end;
}

/* Refuses OPTION ("--timout=5"), which is short for no row's name, or for
 * several. */
static void
refuse_long_option(const struct option_table *table, const char *option)
{
	const char *const word = option + strlen("--");
	const size_t length = strcspn(word, "=");
	const struct option_row *nearest = NULL;
	size_t least = TYPOS_MAX + 1;
	size_t count = 0;
	char text[SHOWN_MAX + 1] = "";
	struct strbuf names = { .text = text, .size = sizeof(text) };

	for (size_t i = 0; i < table->count; i++) {
		const struct option_row *const row = &table->rows[i];
		const size_t differences =
		    count_differences(row->name, word, length);

		if (strncmp(row->name, word, length) == 0) {
			count++;
			strbuf_addf(&names, " '--%s'", row->name);
		}
		if (differences < least && 2 * differences < length) {
			least = differences;
			nearest = row;
		}
	}
	if (count > 1)
		message("option '%s' is ambiguous; possibilities:%s (see %s "
		        "--help)",
		        option, text, table->program);
	else if (nearest != NULL)
		message("unrecognized option '%s' (did you mean '--%s'? see %s "
		        "--help)",
		        option, nearest->name, table->program);
	else
		message("unrecognized option '%s' (see %s --help)", option,
		        table->program);
}

/* Prints, in the words of glibc's getopt_long(3), what is wrong with OPTION,
 * for which getopt_long(3) returned FOUND. */
static int
refuse_option(const struct option_table *table, int found, const char *option)
{
	const char *const program = table->program;
	/* musl sets optopt to a wide character, for a letter beyond ASCII. */
	const bool is_long =
	    optopt >= LONG_OPTION && optopt < LONG_OPTION + (int)table->count;
	const struct option_row *const row =
	    is_long || found == ':' ? find_row(table, optopt) : NULL;

	if (found == ':' && is_long)
		message("option '--%s' requires an argument (%s; see %s "
		        "--help)",
		        row->name, row->kind->metavar, program);
	else if (found == ':')
		message("option requires an argument -- '%c' (%s; see %s "
		        "--help)",
		        row->letter, row->kind->metavar, program);
	else if (is_long)
		message("option '--%s' doesn't allow an argument (see %s "
		        "--help)",
		        row->name, program);
	else if (optopt != 0)
		message("invalid option -- '%c' (see %s --help)", optopt,
		        program);
	else
		refuse_long_option(table, option);
	return STATUS_FAILED;
}

/* Whether WORD is a long option of TABLE with one dash: "-timeout=5". Most of
 * these are several short options too, but no user means these. */
static bool
lacks_dash(const struct option_table *table, const char *word)
{
	const size_t length = strcspn(word, "=");

	for (size_t i = 0; *word == '-' && i < table->count; i++) {
		const char *const name = table->rows[i].name;

		if (length == strlen(name) + 1 &&
		    strncmp(word + 1, name, length - 1) == 0)
			return true;
	}
	return false;
}

int
command_line_refuse(const struct option_row *row, const char *text)
{
	const bool is_long = strlen(text) > SHOWN_MAX;

	/* "-t=5" is -t with the argument "=5". */
	if (*text == '=' && row->letter != 0 && !is_long)
		message("--%s: '%s' is not %s: did you mean '-%c %s'?",
		        row->name, text, row->kind->accepted, row->letter,
		        text + 1);
	else
		message("--%s: '%s' is not %s", row->name,
		        is_long ? "(too long)" : text, row->kind->accepted);
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

/* "  -t, --timeout=DUR       stop COMMAND after DUR (never)" */
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
	strbuf_addf(help, "--%-19s %s\n", name, row->help);
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

	describe(line->table, letters, longs);
	opterr = 0;
	for (;;) {
		/* The word that the next option is in. */
		const char *const word =
		    optind < line->argc ? line->argv[optind] : "";

		if (lacks_dash(line->table, word)) {
			message("'%s' is not an option (did you mean '-%s'?)",
			        word, word);
			return STATUS_FAILED;
		}

		const int id =
		    getopt_long(line->argc, line->argv, letters, longs, NULL);
		if (id == -1)
			return OPTIONS_ARE_COMPLETE;
		if (id == '?' || id == ':')
			return refuse_option(line->table, id,
			                     line->argv[optind - 1]);

		const int status =
		    take_option(line, find_row(line->table, id), options);

		if (status != OPTIONS_ARE_COMPLETE)
			return status;
	}
}
