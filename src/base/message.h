#pragma once

#include <stdatomic.h>

struct strbuf;

/* Writes this program's name ("wdrun: "), FORMAT and a newline to stderr in one
 * write(2), made printable, on a line of its own. If stderr takes nothing for
 * 200 ms, the message is lost, and the run goes on. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* Like message(), for several LINES, each with a null byte at its end. */
void message_lines(struct strbuf *lines);

/* Messages begin with a newline where SHARED says that the last byte that the
 * front has carried to stderr was none. In memory that both watchers share. */
void message_share_line(atomic_int *shared);

/* Writes LINE to stdout. Returns the exit status: 0; 125 after a message. */
int message_print(const struct strbuf *line);
