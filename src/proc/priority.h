#pragma once

/* Raises the priority of this process as far as permitted, over a tree that may
 * leave this process a thousandth of a processor. Children do not inherit the
 * priority: SCHED_RESET_ON_FORK, sched(7). */
void priority_take(void);
