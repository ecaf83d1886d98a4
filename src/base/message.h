#pragma once

struct strbuf;

/* Writes the name ("wdrun: "), FORMAT and a newline to stderr in one write(2),
 * with '?' for what is not printable. Where stderr is stuck or gone the line is
 * lost, since no trouble with a message may hold up a run. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* Has messages begin with NAME, which is not copied, instead of "wdrun". */
void message_set_name(const char *name);

/* Writes all of LINE to stdout. Returns the status to exit with: 0; or 125
 * after a message, if LINE could not be written ("--help >/dev/full"). */
int message_print(const struct strbuf *line);
