#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "inspect/fdinfo.h"
#include "proc/proctree.h"

/* The process to describe, and what blocked_add() finds out. */
struct blocked_process {
	pid_t pid;
	char state; /* at the last look: proc(5) */
	long threads;
	bool is_busy; /* on CPU for more than half of its life */
	const struct process_list *list; /* the tree, or NULL: not known */
	struct fdtable *table;           /* finds the other ends of pipes */
	bool in_short; /* make no read that may wait for the process */

	/* What blocked_add() finds. */
	const char *code;          /* a word for programs, or NULL: not known */
	struct fdinfo_ends others; /* processes that can end the wait */
	pid_t thread;              /* the thread described */
	uint64_t switches;         /* thread_switches(), if OTHERS are known */
};

/*
 * Appends to LINE, behind ": ", in words what PROCESS is blocked in: of several
 * threads, a thread on a CPU, else the thread whose wait tells most. Appends
 * nothing that was not seen, and nothing at all if nothing may be read. Unless
 * in short, may never return: reading waits for the mmap_lock of PROCESS, for
 * example, which a hanging thread may hold.
 */
void blocked_add(struct strbuf *line, struct blocked_process *process);

/* Whether THREAD of PROCESS is still in the wait that blocked_add()
 * described. */
bool blocked_is_unchanged(const struct blocked_process *process);
