#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses a command line by a table: a new option is a row of the table and a
 * field of struct options. */

#define WDRUN_VERSION "0.1.0"

#define OPTIONS_ARE_COMPLETE (-1) /* not an exit status */
#define OPTION_ROWS_MAX      40   /* `given` below has 64 bits */

struct options;
struct option_row;

/* Parses TEXT, the argument of option ROW (NULL if ROW takes none), into FIELD.
 * Returns OPTIONS_ARE_COMPLETE; or STATUS_FAILED, after a message that names
 * the option, TEXT and what is accepted. */
typedef int option_reader(const struct option_row *row, void *field,
                          const char *text);

/* The kind of an option's argument. */
struct option_kind {
	option_reader *read;
	const char *metavar;  /* name of the argument in --help, or NULL */
	const char *accepted; /* words after "is not" in a refusal */
	size_t length_min;    /* of a text, in bytes */
	size_t length_max;
};

struct option_row {
	char letter; /* or 0 */
	const char *name;
	const char *help;
	const struct option_kind *kind;
	size_t field;      /* offset in struct options */
	size_t clears;     /* offset of a flag to turn off, or 0 for none */
	const char *needs; /* option that must be given too, or NULL */
	bool is_common;    /* valid with --list, --cancel and --reap, too */
};

struct option_table {
	const char *program; /* name in "see NAME --help" */
	const char *version;
	const char *usage; /* text of --help before the rows */
	const char *notes; /* text of --help after the rows */
	const struct option_row *rows;
	size_t count; /* of rows */
};

/* The offset of MEMBER in struct options. Compiles only if MEMBER is of TYPE,
 * the type that the reader of the option's kind writes. */
#define FIELD(type, member)                                                    \
	_Generic(((struct options *)NULL)->member, type                        \
	         : offsetof(struct options, member))

/* A row; HELP_ is followed by initialisers for kind, field and others. */
#define ROW(letter_, name_, help_, ...)                                        \
	{                                                                      \
		.letter = (letter_), .name = (name_), .help = (help_),         \
		__VA_ARGS__                                                    \
	}

#define FLAG(member)   .kind = &option_flag, .field = FIELD(bool, member)
#define PRINTS_HELP    .kind = &option_help
#define PRINTS_VERSION .kind = &option_version

extern const struct option_kind option_flag;
extern const struct option_kind option_help;    /* ends the parsing */
extern const struct option_kind option_version; /* ends the reading */

struct command_line {
	const struct option_table *table;
	int argc;
	char **argv;
	uint64_t given; /* bit N is set if the option of row N was given */
	int next;       /* index of the next word in argv */
};

/* Parses the options of LINE into *OPTIONS, up to the first operand. Sets
 * line->given, and line->next to the operand's index. Returns
 * OPTIONS_ARE_COMPLETE, or an exit status: of message_print() after --help or
 * --version; STATUS_FAILED after a message about a mistake. */
int command_line_read(struct command_line *line, struct options *options);

/* Prints that TEXT is not what ROW accepts. Returns STATUS_FAILED. */
int command_line_refuse(const struct option_row *row, const char *text);
