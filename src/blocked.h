#ifndef WDRUN_BLOCKED_H
#define WDRUN_BLOCKED_H

#include <stdbool.h>
#include <sys/types.h>

#include "message.h"
#include "proctree.h"

/* The process to be looked at, and what is known of it. */
struct suspended {
	pid_t pid;
	char state; /* as it is now: proc(5) */
	long threads;
	pid_t child;                     /* if it has only one, else 0 */
	const struct process_list *tree; /* it, and all others; else NULL */
	bool in_short; /* only what can be read without waiting for it */
};

/*
 * Appends to LINE, behind ": ", what the main thread of PROCESS is blocked in,
 * in words; nothing where that cannot be read. Claims only what was seen. Not
 * in short, it reads what may never answer, from the process's memory too: that
 * is behind its mmap_lock.
 */
void blocked_add(struct line *line, const struct suspended *process);

#endif
