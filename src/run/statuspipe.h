#pragma once

#include <stdbool.h>

#include "run/summary.h"
#include "watchdog.h"

#define INTERPRETER_SIZE 80

/* The status pipe: what the front has to know when supervisor and target are
 * dead. Each entry is one write(2), which no other write can divide (pipe(7),
 * PIPE_BUF), and stays readable after its writer was SIGKILLed. */

/* An entry, with the field that its writer tells; and all that the front has
 * read. What is not known is 0. */
struct statuspipe {
	pid_t target;   /* from the supervisor */
	int exec_errno; /* of execve(2), from the target */
	bool is_found;  /* from the target: exec_failure.h */
	char interpreter[INTERPRETER_SIZE]; /* of a script that is_found */
	enum reason stop;       /* the first reason to end the tree */
	struct outcome outcome; /* how wdrun is to end: the last entry */
	struct usage usage;     /* from the supervisor, at the end */
};

/* Opens the pipe, close-on-exec, as FDS. Returns 0, or -1 with errno of
 * pipe2(2). */
int statuspipe_open(int fds[2]);

/* Writes ENTRY to FD, without a wait. Async-signal-safe. A failure is not
 * reported: the pipe has a reader as long as the front lives. */
void statuspipe_send(int fd, const struct statuspipe *entry);

/* Adds what was written to the pipe FD since the last call to *STATUS, which
 * starts empty. Does not wait. */
void statuspipe_read(int fd, struct statuspipe *status);
