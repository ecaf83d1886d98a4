#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct strbuf;

/* What the watchers know of stderr, in memory that both share. */
struct message_facts {
	atomic_int in_line; /* the command's line there has no newline yet */
	atomic_int is_held; /* messages for a terminal are kept here: */
	atomic_uint length;
	char text[32768]; /* what a look can tell, and more */
};

/* From now on, the facts are FACTS, which are all 0. */
void message_share(struct message_facts *facts);

/* Writes this program's name ("wdrun: "), FORMAT and a newline to stderr in one
 * write(2), made printable, on a line of its own. If stderr takes nothing for
 * 200 ms, the message is lost, and the run goes on. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* Returns the text of the last message() of this process. */
const char *message_last(void);

/* Like message(), for several LINES, each with a null byte at its end. */
void message_lines(struct strbuf *lines);

/* Notes whether what the front has carried to stderr ends in mid-line: then the
 * next message begins with a newline. */
void message_note_line(bool in_line);

/* Holds what is for a terminal, also of the other watcher, until the release:
 * a full-screen program would paint over it. */
void message_hold(void);
void message_release(void);

/* Writes LINE to stdout. Returns the exit status: 0; 125 after a message. */
int message_print(const struct strbuf *line);
