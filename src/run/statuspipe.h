#pragma once

#include <stdbool.h>

#include "watchdog.h"

#define INTERPRETER_SIZE 80

/* The status pipe: what the front has to know when supervisor and target are
 * dead. Each entry is one write(2), atomic by PIPE_BUF (pipe(7)), and stays
 * readable after its writer got SIGKILL. */

/* An entry, with the fields that its writer knows; or all that the front has
 * read. A field that is not known is 0. */
struct statuspipe {
	pid_t target;   /* from the supervisor */
	int exec_errno; /* of execve(2), from the target */
	bool is_found;  /* from the target: exec_failure.h */
	char interpreter[INTERPRETER_SIZE]; /* of a script that is_found */
	bool is_stopping;       /* from the supervisor: a stop has begun */
	enum reason stop;       /* the first reason to end the tree */
	struct outcome outcome; /* how wdrun is to end: the last entry */
	struct usage usage;     /* from the supervisor, at the end */
};

/* Opens the pipe, close-on-exec, as FDS. Returns 0, or -1 with errno of
 * pipe2(2). */
int statuspipe_open(int fds[2]);

/* Writes ENTRY to FD, without waiting. Async-signal-safe. Reports no failure:
 * the pipe has a reader as long as the front lives. */
void statuspipe_send(int fd, const struct statuspipe *entry);

/* Adds to *STATUS, which starts empty, what was written to the pipe FD since
 * the last call. Does not wait. */
void statuspipe_read(int fd, struct statuspipe *status);
