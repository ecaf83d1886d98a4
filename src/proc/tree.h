#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duration.h"

/*
 * The tree of a run: the descendants of this process, a subreaper, without its
 * helpers.
 *
 * Two proofs keep every signal within the tree. A child that is not reaped
 * keeps its PID: so nothing is reaped between a reading and its signals. Any
 * other process is signalled through its directory in /proc, which stands for
 * one process and tells that its parent is of the tree.
 *
 * Two facts of the kernel make the end certain. With SIGKILL pending, fork(2)
 * fails (copy_process()): so SIGKILL goes to a process before its children are
 * read, and what a reading misses has a dead parent, and so is a child of this
 * process in the next reading. And waitid(2) says ECHILD when nobody is left.
 *
 * Without /proc, only the target and its process group are known.
 */

struct process {
	pid_t pid;
	pid_t parent;
	int depth; /* 0: a child of this process */
};

struct process_list {
	struct process *entries;
	size_t count;
};

struct tree {
	pid_t target;        /* a child of this process; 0: not known */
	bool target_is_dead; /* its zombie is kept, and so the PGID */
	siginfo_t end;       /* how the target died, from waitid(2) */
	size_t killed;       /* processes that died by SIGKILL in tree_kill() */

	/* The living, as last read: parents before their children, and these
	 * in the order of their birth. */
	struct process_list list;
	bool is_partial; /* time, room, or permission was missing */

	int signal; /* of the last tree_signal(), */
	int64_t signalled_at;
	bool spares_group; /* the target's, which has just had SIGNAL */
	pid_t self;        /* procfs_self(), as last read */
	bool is_ours;      /* /proc has the PIDs of this process's namespace */
};

/* Lets this process run before the tree that it is about to stop, as far as it
 * may. A process that it forks later is scheduled as before. */
void tree_take_priority(void);

/* Reads the tree until the clock says UNTIL. Never waits for a process. */
void tree_read(struct tree *tree, int64_t until);

/*
 * Sends SIGNAL, and then SIGCONT, once to each process of the tree: in one call
 * to the target's process group, before anything is read, then to the others,
 * until nobody is new, or the clock says UNTIL, for about a second at most.
 * Leaves out what such a process has started since: that is part of an orderly
 * end. Returns how many processes got the signal.
 */
size_t tree_signal(struct tree *tree, int signal, int64_t until);

/* After tree_signal(), when a process may have died: sends its signal to the
 * orphans that this process has got since. LIST has these alone then. */
size_t tree_signal_orphans(struct tree *tree, int64_t until);

#define TREE_KILL_BOUND (30 * SECOND)

/* Sends SIGKILL to all processes of the tree until they are dead, or until
 * nobody has come or died for 5 seconds, or for TREE_KILL_BOUND in all. Reaps
 * the dead but the target. Returns whether nobody is alive; if somebody is,
 * LIST says who. */
bool tree_kill(struct tree *tree);

/* Notes the end of the target, and reaps the other dead children; those behind
 * a dead target only if IS_THOROUGH, as they cost a reading. */
void tree_reap(struct tree *tree, bool is_thorough);

/* A number that changes when a process of the tree, as last read, comes, goes,
 * computes, reads or writes. */
uint64_t tree_activity(const struct tree *tree);
