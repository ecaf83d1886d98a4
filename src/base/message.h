#pragma once

#include <stdatomic.h>

struct strbuf;

/* What the watchers know of stderr. The pump sets IN_LINE, a stop IS_HELD. */
struct message_facts {
	char text[32768]; /* what a look can tell, and more: whole pages */
	/* What the front has carried to stderr ends in mid-line: then the next
	 * message begins with a newline. */
	atomic_int in_line;
	/* Messages of both watchers to a terminal are kept here, up to
	 * message_release(): a full-screen program would paint over them. */
	atomic_int is_held;
	atomic_uint length;
};

/* Of this process alone, until it points to memory that both share. */
extern struct message_facts *message_facts;

/* Writes this program's name ("wdrun: "), FORMAT and a newline to stderr in one
 * write(2), made printable, on a line of its own. If stderr takes nothing for
 * 200 ms, the message is lost, and the run goes on. Keeps errno. */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* The text of the last message() of this process. */
extern char message_last[];

/* Like message(), for several LINES, each with a null byte at its end. */
void message_lines(struct strbuf *lines);

/* Prints the messages that were held, and holds no more. */
void message_release(void);

/* Writes LINE to stdout. Returns the exit status: 0; 125 after a message. */
int message_print(const struct strbuf *line);
