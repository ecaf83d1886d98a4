#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/duration.h"

/*
 * The tree of a run: the descendants of this process, a subreaper.
 *
 * Two proofs keep every signal within the tree. A child that is not reaped
 * keeps its PID: so nothing is reaped between a reading and its signals. Any
 * other process is signalled through its directory in /proc, which is opened
 * before its parent is seen to be of the tree.
 *
 * Two facts of the kernel make the end certain. With SIGKILL pending, fork(2)
 * fails (copy_process()): so SIGKILL goes to a process before its children are
 * read, and what a reading misses has a dead parent, and so is a child of this
 * process in the next reading. And waitid(2) says ECHILD when nobody is left.
 *
 * Without /proc, only the target's group is known, and its zombie is kept.
 */

struct supervisor;

struct member {
	pid_t pid;
	pid_t parent;
};

struct tree {
	pid_t root;    /* its tree is read; 0: that of this process */
	pid_t target;  /* a child, until it is reaped; 0: there is none */
	pid_t group;   /* the target's, also after its death */
	size_t killed; /* processes that were reaped, and died by SIGKILL */
	/* The living, as last read: parents before children, by birth. */
	const struct member *members;
	size_t count;
	bool is_partial;       /* time or room was missing */
	bool group_has_signal; /* the target's: set before tree_signal() */
	bool all_have_signal;  /* and all of the tree */
	int signal;            /* of the last tree_signal() */
	int64_t signalled_at;  /* the time of that */
	pid_t last_pid;        /* given to any process before that, or 0 */
	/* Names of --keep, or NULL; with them, no group is signalled whole. */
	const char *keep;
	bool spares; /* children that are not of the tree */
	/* In a front, which cannot tell orphans: spares each session's leader
	 * that bears a name of KEEP, whenever it comes. */
	bool keeps_leaders;
	pid_t self;   /* procfs_self(), as last read */
	bool is_ours; /* /proc has the PIDs of this process's namespace */
};

/* Lets this process, but none that it forks, run before the tree, if it may.
 * Call it once: each change costs the rest of the time slice. */
void tree_take_priority(void);

/* Spares each present orphan that bears one of NAMES, with all below it: a
 * child of this process, or of an inner run's supervisor, but no run's command.
 * Without NAMES, spares all children. The spared become the MEMBERS. If a stop
 * follows, call it before the first signal, which makes orphans. */
void tree_spare(struct tree *tree, const char *names);

/* Whether nobody of the tree is alive; with SPARES, the dead count until they
 * are reaped: their children may have come after the list was read. */
bool tree_is_empty(struct tree *tree);

/* Reads the tree, or the ROOT and what is below it, until the clock says
 * UNTIL. Never waits for a process. */
void tree_read(struct tree *tree, int64_t until);

/* Sends SIGNAL to the process group that the target leads, else to the target
 * alone; with KEEP, or where the target is reaped, to each process of the tree
 * in GROUP: no other group gets that number while one of them lives. */
void tree_signal_target(struct tree *tree, int signal);

#define ANY_GROUP (-1) /* 0 is a group of another PID namespace */

/* Sends SIGNAL to each process of the tree, but the target, that is in GROUP,
 * or in ANY_GROUP. A GROUP has a member, or is the caller's: so no other group
 * has its number. */
void tree_signal_members(struct tree *tree, pid_t group, int signal);

/* Sends SIGNAL, and then SIGCONT, once to each process of the tree: in one call
 * to the group of a target that lives, then to the others, until nobody is new,
 * or the clock says UNTIL, for about a second at most. Leaves out what they
 * have started since, for an orderly end, and the processes of a run within the
 * tree, whose supervisor passes it on. Returns how many got the signal. */
size_t tree_signal(struct tree *tree, int signal, int64_t until);

/* The same, for orphans that have come since. */
size_t tree_signal_again(struct tree *tree, int64_t until);

#define TREE_KILL_BOUND (30 * SECOND)

/* Kills all but the watchers of inner runs, which have 5 seconds to end. Then
 * sends SIGKILL until all are dead; or until for 5 seconds nobody came, died,
 * or ran to its death; or until TREE_KILL_BOUND is over. Calls REAP with SELF,
 * who has the tree, for the dead. Returns whether nobody lives; else MEMBERS
 * says who. */
bool tree_kill(struct tree *tree, struct supervisor *self,
               void (*reap)(struct supervisor *self, int64_t now));

/* Reaps CHILD, if it is dead and not the target: fills *END, returns true. */
bool tree_reap_child(struct tree *tree, pid_t child, siginfo_t *end);
