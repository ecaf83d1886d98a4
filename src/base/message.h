#pragma once

#include <stdbool.h>

struct strbuf;

/* Writes the name ("wdrun: "), FORMAT and a newline to stderr in one write(2),
 * with '?' for what is not printable. Where stderr is stuck or gone the line is
 * lost, since no trouble with a message may hold up a run. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/*
 * Writes the lines in LINES, behind each of which is a null byte, as message()
 * does: all in one write(2), if stderr has room for them, so that they stay
 * together. At a terminal, they begin on a line of their own, and with
 * HAS_HEADLINE the first is bold and red, unless $NO_COLOR or $TERM forbids it.
 */
void message_lines(const struct strbuf *lines, bool has_headline);

/* Has messages begin with NAME, which is not copied, instead of "wdrun". */
void message_set_name(const char *name);

/* Writes all of LINE to stdout. Returns the status to exit with: 0; or 125
 * after a message, if LINE could not be written ("--help >/dev/full"). */
int message_print(const struct strbuf *line);
