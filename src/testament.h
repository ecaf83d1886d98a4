#ifndef WDRUN_TESTAMENT_H
#define WDRUN_TESTAMENT_H

#include "../watchdog.h"

/*
 * The testament: a pipe through which target and supervisor leave behind what
 * the front has to know when they are dead. Each entry is written in one piece
 * (pipe(7), PIPE_BUF) and stays readable after its writer was SIGKILLed.
 */

/* What the front finds; an entry that was not written is 0. */
struct testament {
	pid_t target;
	int exec_errno;   /* why COMMAND could not be executed */
	enum reason stop; /* the first reason for which the tree was ended */
	struct outcome verdict;
};

/* Opens RUN's pipe. Returns 0, or -1 with errno of pipe2(2). */
int testament_open(struct run *run);

/* The target's entry. Async-signal-safe. A failure is not told to anyone: the
 * pipe is there as long as the front is. */
void testament_exec_failed(const struct run *run, int why);

/* The supervisor's. */
void testament_name_target(const struct run *run, pid_t target);
void testament_name_stop(const struct run *run, enum reason why);
void testament_judge(const struct run *run, struct outcome verdict);

/* Adds what was left since the last reading to *TESTAMENT, which starts empty.
 * Does not block. */
void testament_read(const struct run *run, struct testament *testament);

#endif
