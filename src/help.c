/* What --help and --version print. */
#include "help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "message.h"
#include "optiontable.h"
#include "print.h"

#define HELP_ROW(id, name, argument, text) { id, name, argument, text },

static const struct help_row rows[] = { ROWS(HELP_ROW) };

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

const struct help_row *
help_find(int id)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].id == id)
			return &rows[i];
	}
	return NULL;
}

static void
add_help(struct line *text)
{
	line_add(
	    text,
	    "Usage: wdrun [OPTION]... [--] COMMAND [ARG]...\n"
	    "       wdrun --list | --cancel=RUN | --reap [--registry=DIR]\n"
	    "Run COMMAND, and see that it ends with all that it started.\n\n");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct help_row *const row = &rows[i];
		char name[64];
		struct line left = { .text = name, .size = sizeof(name) };

		line_add(&left, "%s%s%s", row->name,
		         row->argument == NULL ? "" : "=",
		         row->argument == NULL ? "" : row->argument);
		if (row->id < ID_FIRST_LONG)
			line_add(text, "  -%c, ", row->id);
		else
			line_add(text, "      ");
		line_add(text, "--%-26s %s\n", name, row->text);
	}
	line_add(
	    text,
	    "\nDUR: " ACCEPTED_DURATIONS " (ms, s, m, h, d; bare: "
	    "seconds).\nStatus: COMMAND's own, 75 lock held, 124 timeout, "
	    "125 wdrun failed, 126 cannot\nexecute, 127 not found. "
	    "More: man wdrun\n"
	    "Started under the name timeout, it takes the arguments of timeout(1).\n");
}

int
help_print(void)
{
	char text[4096];
	struct line help = { .text = text, .size = sizeof(text) };

	add_help(&help);
	return print_line(&help);
}

int
help_print_version(void)
{
	char text[] = "wdrun " VERSION "\n";

	return print_line(
	    &(struct line){ .text = text, .length = sizeof(text) - 1 });
}
