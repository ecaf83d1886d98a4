#ifndef WDRUN_TREEKILL_H
#define WDRUN_TREEKILL_H

#include <stddef.h>

#include "proctree.h"

/*
 * Sends SIGNAL once to each process of the TREE as it was last read: to whole
 * process groups where they are the tree's own, for which that is atomic
 * against a fork, else one by one. Nothing that is not of the tree is ever
 * signalled, nor kill(0) or kill(-1) called. What refuses is marked in the
 * list. Without /proc, only SIGKILL reaches what has left the target's group.
 */
void treekill_signal(struct proctree *tree, int signal);

/*
 * Reads the tree and sends it SIGKILL; what got that in an earlier sweep and
 * is still there gets it by itself, whatever group it is in. Returns how many
 * processes were there for the first time: as long as that is not 0, others
 * may be being forked, and the next sweep should come at once.
 */
size_t treekill_sweep(struct proctree *tree);

/*
 * Stops the tree with SIGSTOP until no new process appears, at most LIMIT
 * times: for a storm that forks faster than it is killed. A stopped process
 * does not fork, and unlike a dead one it leaves no room in the limits
 * (RLIMIT_NPROC, pids.max) for another.
 */
void treekill_freeze(struct proctree *tree, int limit);

#endif
