#pragma once

/* What a process has to do next: little, but at once; or much. */
enum priority {
	PRIORITY_BRIEF,
	PRIORITY_LASTING,
};

/* Raises the priority of this process as far as permitted, over a tree that may
 * leave this process a thousandth of a processor; once for each KIND, and not
 * to PRIORITY_BRIEF after PRIORITY_LASTING. Children do not inherit the
 * priority: SCHED_RESET_ON_FORK, sched(7). */
void priority_take(enum priority kind);
