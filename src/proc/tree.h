#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "base/duration.h"

/* --- the children of this process ----------------------------------------- */

#define ANY_CHILD       0
#define CHILD_NONE_LEFT (-1) /* ECHILD */

/* Looks, without waiting, for an event of the child PID, or of ANY_CHILD, that
 * OPTIONS of waitid(2) ask for: without WNOWAIT, the dead child is reaped.
 * Leaves out helpers, unless OPTIONS have __WALL. Returns the PID of the child
 * with the event, and fills *INFO; 0 if no such child has such an event; or
 * CHILD_NONE_LEFT if there is no such child. */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/* Whether the child PID is alive, or ANY_CHILD is; a helper does not count. */
bool wait_has_living(pid_t pid);

/* Returns the CPU time of all children that were reaped, in nanoseconds; and in
 * *MEMORY the most that a process of them used, in KiB: getrusage(2). */
int64_t wait_usage(long *memory);

/* As pidfd_open(2): unlike a directory in /proc, a pidfd can be polled. */
int pidfd_open(pid_t pid);

/* Forks a process of wdrun's own, at whose death the parent gets EXIT_SIGNAL:
 * as _Fork(3), which not each libc has, but in one system call. libc does not
 * know the child's thread ID: so the child must end by _exit(2), and call
 * neither raise(3), abort(3) nor pthread functions. */
pid_t plain_fork(int exit_signal);

/*
 * Forks a helper, by plain_fork(): it makes the calls that may block. The
 * kernel kills it when its parent dies.
 *
 * A helper is a clone child (waitid(2)): its exit signal is not SIGCHLD, so
 * that waitid() without __WALL and __WCLONE does not see the helper, and ECHILD
 * means that the tree is empty. No process of the tree can hide as a clone
 * child of a watcher: the kernel gives SIGCHLD to an orphan (reparent_leader())
 * and to a process that calls execve(2) (de_thread()), and CLONE_PARENT copies
 * the exit signal of the caller of clone(2) (copy_process(); since Linux 5.10
 * without a race). So the helpers of a killed supervisor become ordinary
 * children of the front, until PR_SET_PDEATHSIG has killed them.
 */
pid_t helper_fork(void);

/* Waits until CHILD is dead; at UNTIL, kills it, and waits no longer. Up to 1:
 * there is no child. Does not reap CHILD. Each signal has to be blocked, or end
 * this process: none ends the wait. */
void wait_or_kill(pid_t child, int64_t until);

/* --- the tree ------------------------------------------------------------- */

/*
 * The tree of a run: the descendants of this process, a subreaper, without its
 * helpers.
 *
 * Two proofs keep every signal within the tree. A child that is not reaped
 * keeps its PID: so nothing is reaped between a reading and its signals. Any
 * other process is signalled through its directory in /proc, which is opened
 * before the parent of its PID is seen to be of the tree: if the PID has got to
 * another process by then, nobody gets the signal.
 *
 * Two facts of the kernel make the end certain. With SIGKILL pending, fork(2)
 * fails (copy_process()): so SIGKILL goes to a process before its children are
 * read, and what a reading misses has a dead parent, and so is a child of this
 * process in the next reading. And waitid(2) says ECHILD when nobody is left.
 *
 * Without /proc, only the target and its process group are known.
 */

struct member {
	pid_t pid;
	pid_t parent;
};

struct tree {
	pid_t target;  /* a child of this process that is not reaped, and
	                * may lead a process group; 0: there is none */
	pid_t group;   /* that the target leads, or has led */
	size_t killed; /* in tree_kill(): processes that died by SIGKILL */

	/* The living, as last read: parents before their children, and these
	 * in the order of their birth. */
	const struct member *members;
	size_t count;
	bool is_partial; /* time or room was missing */

	int signal;           /* of the last tree_signal() */
	int64_t signalled_at; /* the time of that */
	bool spares_group; /* in the first reading: the group has had SIGNAL */
	pid_t self;        /* procfs_self(), as last read */
	bool is_ours;      /* /proc has the PIDs of this process's namespace */
};

/* Whether, when first asked, so many processes wanted a processor that reading
 * the tree takes seconds: without priority this process waits after each time
 * slice, and with it, there is still too much to read. */
bool tree_is_outrun(void);

/* Lets this process run before the tree that it is about to stop, as far as it
 * may. A process that it forks later is scheduled as before. */
void tree_take_priority(void);

/* Reads the tree until the clock says UNTIL. Never waits for a process. */
void tree_read(struct tree *tree, int64_t until);

/* Sends SIGNAL to the process group that the target leads, else to the target
 * alone; where the target is reaped, to each process of the tree in that group:
 * the kernel gives that number to no other group while one of them lives. */
void tree_signal_target(struct tree *tree, int signal);

/* Sends SIGNAL, and then SIGCONT, once to each process of the tree: in one call
 * to the target's process group, before anything is read, then to the others,
 * until nobody is new, or the clock says UNTIL, for about a second at most.
 * Leaves out what such a process has started since: that is part of an orderly
 * end. Returns how many processes got the signal. */
size_t tree_signal(struct tree *tree, int signal, int64_t until);

/* After tree_signal(), when a process may have died: sends the signal to those
 * who have not had it, as the orphans that this process has got since. MEMBERS
 * are of no use after it. */
size_t tree_signal_again(struct tree *tree, int64_t until);

#define TREE_KILL_BOUND (30 * SECOND)

/* Sends SIGKILL to all processes of the tree until they are dead, or until
 * nobody has come or died for 5 seconds, or for TREE_KILL_BOUND in all. Reaps
 * the dead but the target. Returns whether nobody is alive; if somebody is,
 * MEMBERS says who. */
bool tree_kill(struct tree *tree);

/* Reaps the dead children but the target, whose zombie may hide others. */
void tree_reap(struct tree *tree);

/* A number that changes when a process of the tree, as last read, comes, goes,
 * computes, reads or writes. */
uint64_t tree_activity(const struct tree *tree);
