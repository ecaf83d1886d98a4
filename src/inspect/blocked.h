#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "inspect/fdinfo.h"
#include "proc/proctree.h"

/* A process that is looked at, and what is known of it. */
struct blocked_process {
	pid_t pid;
	char state; /* as it was just now: proc(5) */
	long threads;
	bool is_busy; /* it has been on CPU for half of its life */
	const struct process_list *list; /* the tree; or NULL: not known */
	struct fdtable *table; /* where the other ends of its pipes are */
	bool in_short; /* read nothing that may have to wait for the process */

	/* What blocked_add() finds. */
	const char *code;          /* a word for programs; or NULL: not known */
	struct fdinfo_ends others; /* who can end the wait */
	pid_t thread;              /* that is described */
	uint64_t switches; /* how often it had waited, if OTHERS are known */
};

/*
 * Appends to LINE, behind ": ", in words what PROCESS is blocked in: of several
 * threads, one on a CPU, or the one whose wait tells most. Appends nothing that
 * was not seen, and nothing at all where nothing may be read. Unless in short,
 * this may never return: it waits for the mmap_lock of PROCESS, for example,
 * which a thread that hangs may hold.
 */
void blocked_add(struct strbuf *line, struct blocked_process *process);

/* Whether THREAD of PROCESS has waited in one and the same call since
 * blocked_add(). */
bool blocked_is_unchanged(const struct blocked_process *process);
