#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proctree;

/*
 * Sends SIGNAL once to each process of the TREE as last read: to whole process
 * groups where only the tree is in them, which is atomic against fork(2), else
 * process by process. Signals no process outside the tree, and never calls
 * kill(0) or kill(-1). Notes a refusal in the list. Without /proc, only SIGKILL
 * reaches processes outside the target's group.
 */
void treekill_signal(struct proctree *tree, int signal);

/* Sends SIGNAL once to each process of the TREE: first to the target's group,
 * then to the other processes as they are read after that first signal, until
 * two readings in a row find no new process, or the clock says UNTIL. Of the
 * processes that were started after the first signal, orphans get the signal
 * for a second, others in three readings. Reaps dead children but the target.
 * Returns how many processes, dead or alive, the longest reading has found. */
size_t treekill_signal_all(struct proctree *tree, int signal, int64_t until);

/* Sends SIGKILL to the target's group, reads the tree until the clock says
 * UNTIL, and sends SIGKILL to the tree; to a process that an earlier sweep has
 * killed, also by itself. If IS_STORM, the tree forks faster than it is killed:
 * then first stops it by SIGSTOP, for 5 seconds at most, whatever UNTIL says.
 * If IS_STORM, or the reading was incomplete, last kills the tree from the top,
 * for 5 seconds at most. Returns how many processes are new: after a new
 * process more may come, and the next sweep should follow at once. */
size_t treekill_sweep(struct proctree *tree, int64_t until, bool is_storm);
