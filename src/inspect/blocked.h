#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "proc/proctree.h"

/* A process that is looked at, and what is known of it. */
struct blocked_process {
	pid_t pid;
	char state; /* as it was just now: proc(5) */
	long threads;
	pid_t child; /* the only one of the process; 0: it has none, or more */
	/* Where the other ends of its pipes are looked for; or NULL. */
	const struct process_list *tree;
	bool in_short; /* read nothing that may have to wait for the process */
};

/* Appends to LINE, behind ": ", in words what the main thread of PROCESS is
 * blocked in, as far as that can be seen. Unless in short, this may never
 * return: a thread that hangs may hold the mmap_lock of PROCESS. */
void blocked_add(struct strbuf *line, const struct blocked_process *process);
