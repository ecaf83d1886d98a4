#pragma once

#include <stdbool.h>

struct strbuf;

/* Writes "wdrun: ", FORMAT and a newline to stderr in one write(2), unprintable
 * characters as '?'. If stderr fails, or takes nothing for 200 ms, the message
 * is lost: a message must not hold up a run. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* Like message(), for several lines, each with a null byte at its end. Uses one
 * write(2), if stderr has room, so that the lines stay together. On a terminal,
 * unless $TERM is unset or "dumb", the text begins in column 1, and with
 * HAS_HEADLINE the first line is bold and red, unless $NO_COLOR is set. */
void message_lines(const struct strbuf *lines, bool has_headline);

/* Writes TEXT to stderr. */
typedef void message_writer(const struct strbuf *text);

/* If stderr is a file, lets WRITER write the messages from now on: a file
 * system may not answer. */
void message_write_file_by(message_writer *writer);

/* Makes messages begin with NAME, which is not copied, instead of "wdrun". */
void message_set_name(const char *name);

/* Writes LINE to stdout. Returns an exit status: 0; or 125 after a message, if
 * LINE could not be written ("--help >/dev/full"). */
int message_print(const struct strbuf *line);
