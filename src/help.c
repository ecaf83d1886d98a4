/* What --help and --version print. */
#include "help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "message.h"
#include "optiontable.h"

#define VERSION "0.1.0"

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
	line_add(text,
	         "\nDUR: " ACCEPTED_DURATIONS " (ms, s, m, h, d; bare: "
	         "seconds).\nStatus: COMMAND's own, 124 timeout, 125 wdrun "
	         "failed, 126 cannot execute,\n127 not found. More: man "
	         "wdrun\n");
}

/* Not by printf(3): stdout's buffer would be another page of memory in each
 * run. What is printed has to arrive: --help > /dev/full is a failure. */
static int
print(const struct line *text)
{
	size_t done = 0;

	while (done < text->length) {
		const ssize_t written = write(STDOUT_FILENO, text->text + done,
		                              text->length - done);

		if (written == -1) {
			message("cannot write to stdout: %s", strerror(errno));
			return STATUS_FAILED;
		}
		done += (size_t)written;
	}
	return EXIT_SUCCESS;
}

int
help_print(void)
{
	char text[4096];
	struct line help = { .text = text, .size = sizeof(text) };

	add_help(&help);
	return print(&help);
}

int
help_print_version(void)
{
	char text[] = "wdrun " VERSION "\n";

	return print(
	    &(struct line){ .text = text, .length = sizeof(text) - 1 });
}
