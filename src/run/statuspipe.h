#pragma once

#include "watchdog.h"

/*
 * The status pipe: what the front has to know when supervisor and target are
 * dead. Each entry is one write(2), which no other write can divide (pipe(7),
 * PIPE_BUF), and stays readable after its writer was SIGKILLed.
 */

enum entry_kind {
	ENTRY_TARGET,          /* the target's PID, from the supervisor */
	ENTRY_EXEC_FAILED,     /* errno of execve(2), from the target */
	ENTRY_STOP,            /* the first reason to end the tree */
	ENTRY_ENDED,           /* wdrun's exit status is to be this, or */
	ENTRY_ENDED_BY_SIGNAL, /* wdrun is to die by this signal */
};

/* What the front finds; an entry that was not written is 0. */
struct statuspipe {
	pid_t target;
	int exec_errno;
	enum reason stop;
	struct outcome outcome;
};

/* Opens the pipe, close-on-exec, as FDS. Returns 0, or -1 with errno of
 * pipe2(2). */
int statuspipe_open(int fds[2]);

/* Writes an entry to FD, without a wait. Async-signal-safe. A failure is not
 * reported: the pipe has a reader as long as the front lives. */
void statuspipe_send(int fd, enum entry_kind kind, int value);

/* The supervisor's last entry. */
void statuspipe_send_outcome(int fd, struct outcome outcome);

/* Adds what was written to the pipe FD since the last call to *STATUS, which
 * starts empty. Does not wait. */
void statuspipe_read(int fd, struct statuspipe *status);
