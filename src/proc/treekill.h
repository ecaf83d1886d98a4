#pragma once

#include <stddef.h>

struct proctree;

/*
 * Sends SIGNAL once to each process of the TREE as it was last read: to whole
 * process groups where they are the tree's own, for which that is atomic
 * against a fork, else one by one. No process outside the tree is signalled,
 * nor is kill(0) or kill(-1) called. A refusal is noted in the list. Without
 * /proc, only SIGKILL reaches processes outside the target's group.
 */
void treekill_signal(struct proctree *tree, int signal);

/* Sends SIGNAL once to each process of the TREE: to the target's group before
 * anything else, then to the others as they are read after that, until there is
 * no new one, in three rounds at most. */
void treekill_signal_all(struct proctree *tree, int signal);

/* Sends SIGKILL to the target's group, reads the tree and sends it SIGKILL; to
 * a process that an earlier sweep has killed, also by itself. Returns how many
 * processes are new: if any, more may be forking, and the next reading and
 * sweep should come at once. */
size_t treekill_sweep(struct proctree *tree);

/*
 * Stops the tree with SIGSTOP until no new process appears, in at most LIMIT
 * rounds: for a storm that forks faster than it is killed. A stopped process
 * does not fork, and unlike a dead one it counts in the
 * limits (RLIMIT_NPROC, pids.max), so that no other takes its place.
 */
void treekill_freeze(struct proctree *tree, int limit);
