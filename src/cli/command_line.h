#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a command line by a table with a row for each option: a new option is a
 * row, and a field of struct options. */

#define WDRUN_VERSION "0.1.0"

#define OPTIONS_ARE_COMPLETE (-1) /* no exit status has this value */
#define OPTION_ROWS_MAX      40   /* of a table */

struct options;
struct option_row;

/* Reads TEXT, the argument of the option ROW (NULL if the option takes none),
 * into FIELD. Returns OPTIONS_ARE_COMPLETE; or STATUS_FAILED, after one line on
 * stderr that names the option, TEXT and what is accepted. */
typedef int option_reader(const struct option_row *row, void *field,
                          const char *text);

/* What an option takes. */
struct option_kind {
	option_reader *read;
	const char *metavar;  /* the argument's name in --help; NULL: none */
	const char *accepted; /* follows "is not" when a value is refused */
	size_t length_min;    /* of a text, in bytes */
	size_t length_max;
};

struct option_row {
	char letter; /* or 0 */
	const char *name;
	const char *help;
	const struct option_kind *kind;
	size_t field;      /* its offset in struct options */
	size_t clears;     /* offset of a flag to turn off, or 0 for none */
	const char *needs; /* an option that has to be given too, or NULL */
	bool is_common;    /* valid with --list, --cancel and --reap, too */
};

struct option_table {
	const char *program; /* whose --help a refusal names */
	const char *version;
	const char *usage; /* --help has it before the rows */
	const char *notes; /* --help has them after the rows */
	const struct option_row *rows;
	size_t count; /* of rows */
};

/* The offset of MEMBER in struct options. This does not compile if MEMBER is
 * not of TYPE: a reader then cannot write another type than the field has. */
#define FIELD(type, member)                                                    \
	_Generic(((struct options *)NULL)->member, type                        \
	         : offsetof(struct options, member))

/* A row; what follows HELP_ is its kind and field, and what else it has. */
#define ROW(letter_, name_, help_, ...)                                        \
	{                                                                      \
		.letter = (letter_), .name = (name_), .help = (help_),         \
		__VA_ARGS__                                                    \
	}

#define FLAG(member)   .kind = &option_flag, .field = FIELD(bool, member)
#define PRINTS_HELP    .kind = &option_help
#define PRINTS_VERSION .kind = &option_version

extern const struct option_kind option_flag;
extern const struct option_kind option_help;    /* ends the reading */
extern const struct option_kind option_version; /* ends the reading */

struct command_line {
	const struct option_table *table;
	int argc;
	char **argv;
	uint64_t given; /* bit N is set if the option of row N was given */
	int next;       /* the index of the word to read next */
};

/*
 * Reads the options of LINE into *OPTIONS up to the first operand, which
 * line->next is then, and sets line->given. Returns OPTIONS_ARE_COMPLETE, or
 * the status to exit with: after --help and --version that of their printing;
 * after a mistake STATUS_FAILED, with a line on stderr.
 */
int command_line_read(struct command_line *line, struct options *options);

/* Prints what ROW accepts instead of TEXT. Returns STATUS_FAILED. */
int command_line_refuse(const struct option_row *row, const char *text);
