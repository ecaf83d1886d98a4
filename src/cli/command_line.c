/* Parses a command line by a table of options. Not by getopt_long(3), which
 * would add 4 KiB (stdio and UTF-8 tables) to the static binary. */
#include "cli/command_line.h"

#include <string.h>

#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"

#define SHOWN_MAX 255 /* longest value in a message, in bytes */

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

/* The row with this LETTER, or NULL. */
static const struct option_row *
find_letter(const struct option_table *table, char letter)
{
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].letter == letter)
			return &table->rows[i];
	}
	return NULL;
}

/* The row named by the LENGTH bytes at WORD; else the only row whose name
 * begins with them, as in getopt_long(3); or NULL. */
static const struct option_row *
find_name(const struct option_table *table, const char *word, size_t length)
{
	const struct option_row *found = NULL;
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct option_row *const row = &table->rows[i];

		if (strncmp(row->name, word, length) != 0)
			continue;
		if (row->name[length] == '\0')
			return row;
		found = row;
		count++;
	}
	return count == 1 ? found : NULL;
}

/* Returns the length of the longer of NAME and the LENGTH bytes at WORD, less
 * the common start and end: 1 for a letter that is missing, added or wrong, 2
 * for two adjacent letters that are swapped. */
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

/* Refuses OPTION ("--timout=5"), which abbreviates no row's name, or
 * several. */
static int
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
	return STATUS_FAILED;
}

/* Whether WORD is a long option of TABLE with one dash: "-timeout=5". WORD may
 * also be short options ("-t imeout=5"), but no user means these. */
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
	const size_t length = strlen(text);

	/* "-t=5" gives -t the argument "=5". */
	if (length > SHOWN_MAX)
		message("--%s: a value of %zu bytes is not %s", row->name,
		        length, row->kind->accepted);
	else if (*text == '=' && row->letter != 0)
		message("--%s: '%s' is not %s: did you mean '-%c %s'?",
		        row->name, text, row->kind->accepted, row->letter,
		        text + 1);
	else
		message("--%s: '%s' is not %s", row->name, text,
		        row->kind->accepted);
	return STATUS_FAILED;
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

/* Prints the help, or the version. Not inlined: otherwise each run would touch
 * the stack pages of BYTES. */
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

/* In glibc's words, which differ for "--name" and "-n": getopt_long(3). */
static int
refuse_missing(const struct command_line *line, const struct option_row *row)
{
	const char *const metavar = row->kind->metavar;
	const char *const program = line->table->program;

	if (line->argv[line->next - 1][1] == '-')
		message("option '--%s' requires an argument (%s; see %s "
		        "--help)",
		        row->name, metavar, program);
	else
		message("option requires an argument -- '%c' (%s; see %s "
		        "--help)",
		        row->letter, metavar, program);
	return STATUS_FAILED;
}

/* Applies the option ROW with the argument VALUE; or, if VALUE is NULL and ROW
 * takes an argument, with the next word. */
static int
take_option(struct command_line *line, const struct option_row *row,
            const char *value, struct options *options)
{
	char *const fields = (char *)options;

	if (row->kind->metavar != NULL && value == NULL) {
		if (line->next >= line->argc)
			return refuse_missing(line, row);
		value = line->argv[line->next++];
	}
	if (row->kind == &option_help || row->kind == &option_version)
		return print_text(line->table, row->kind == &option_help);
	if (row->clears != 0)
		*(bool *)(fields + row->clears) = false;
	line->given |= UINT64_C(1) << (row - line->table->rows);
	return row->kind->read(row, fields + row->field, value);
}

/* Parses WORD, "--timeout=5". */
static int
take_name(struct command_line *line, const char *word, struct options *options)
{
	const char *const name = word + strlen("--");
	const size_t length = strcspn(name, "=");
	const char *const value =
	    name[length] == '=' ? name + length + 1 : NULL;
	const struct option_row *const row =
	    find_name(line->table, name, length);

	if (row == NULL)
		return refuse_long_option(line->table, word);
	if (value == NULL || row->kind->metavar != NULL)
		return take_option(line, row, value, options);
	message("option '--%s' doesn't allow an argument (see %s --help)",
	        row->name, line->table->program);
	return STATUS_FAILED;
}

/* Parses WORD, "-vt5": an option for each letter, up to an option that takes
 * the rest of WORD, or else the next word, as argument. */
static int
take_letters(struct command_line *line, const char *word,
             struct options *options)
{
	int status = OPTIONS_ARE_COMPLETE;

	while (*++word != '\0' && status == OPTIONS_ARE_COMPLETE) {
		const struct option_row *const row =
		    find_letter(line->table, *word);

		if (row == NULL) {
			message("invalid option -- '%c' (see %s --help)", *word,
			        line->table->program);
			return STATUS_FAILED;
		}
		if (row->kind->metavar != NULL)
			return take_option(line, row,
			                   word[1] == '\0' ? NULL : word + 1,
			                   options);
		status = take_option(line, row, NULL, options);
	}
	return status;
}

int
command_line_read(struct command_line *line, struct options *options)
{
	int status = OPTIONS_ARE_COMPLETE;

	line->next = 1;
	while (status == OPTIONS_ARE_COMPLETE && line->next < line->argc) {
		const char *const word = line->argv[line->next];

		/* "-" alone is an operand. */
		if (word[0] != '-' || word[1] == '\0')
			break;
		line->next++;
		if (strcmp(word, "--") == 0)
			break;
		if (word[1] == '-') {
			status = take_name(line, word, options);
		} else if (lacks_dash(line->table, word)) {
			message("'%s' is not an option (did you mean '-%s'?)",
			        word, word);
			status = STATUS_FAILED;
		} else {
			status = take_letters(line, word, options);
		}
	}
	return status;
}
