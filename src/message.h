#ifndef WDRUN_MESSAGE_H
#define WDRUN_MESSAGE_H

#include <stddef.h>

/*
 * Writes the name ("wdrun: "), FORMAT and a newline to stderr, as one line in
 * one write(2). Never blocks for long and never fails: where stderr is stuck or
 * gone, the line is lost, since no trouble with a message may hold up a run.
 * What is not printable comes out as '?'. errno is kept.
 */
__attribute__((format(printf, 1, 2))) void message(const char *format, ...);

/* Has messages begin with NAME, which is not copied, instead of "wdrun". */
void message_set_name(const char *name);

/* Text that grows in a buffer of fixed size; what does not fit is cut off. */
struct line {
	char *text;
	size_t size;
	size_t length;
};

/* Appends to LINE. */
__attribute__((format(printf, 2, 3))) void line_add(struct line *line,
                                                    const char *format, ...);

#endif
