#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The children of this process: looking at them, and helpers among them. */

#define ANY_CHILD 0

/* What wait_peek() returns if not a PID. */
#define CHILD_NONE_READY 0    /* no such child has such an event */
#define CHILD_NONE_LEFT  (-1) /* there is no such child: ECHILD */

/* Looks, without waiting, for an event of the child PID, or of ANY_CHILD, that
 * OPTIONS of waitid(2) ask for: without WNOWAIT, the dead child is reaped.
 * Leaves out helpers, unless OPTIONS have __WALL. Returns the PID of the child
 * with the event, and fills *INFO; or a value from above. */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/* Whether PID, or ANY_CHILD, is a living child and no helper. */
bool wait_has_living(pid_t pid);

/* As pidfd_open(2): unlike a directory in /proc, a pidfd can be polled. */
int pidfd_open(pid_t pid);

/* The names of wdrun's processes in /proc/PID/comm. The front keeps the name of
 * its program, so that "pkill wdrun" finds the front alone. --list takes a run
 * whose supervisor has the name SUPERVISOR_STOPPING for a run that is being
 * stopped. Helpers keep the name of the watcher that forked them. */
#define SUPERVISOR_NAME     "wd-supervisor"
#define SUPERVISOR_STOPPING "wd-stopping"

/*
 * Forks a helper: a process of wdrun's own beside front and supervisor, which
 * makes the calls that may block. The kernel kills it when its parent dies.
 * Returns as fork(2). The helper must end by _exit(2), and call neither
 * raise(3), abort(3) nor pthread functions.
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

/* Waits until HELPER is dead; or until the time is UNTIL: then kills it, and
 * waits no longer. -1: there is none. The helper is not reaped: the CPU time of
 * the reaped is the command's, getrusage(2). All signals are blocked, or end
 * this process. */
void helper_await(pid_t helper, int64_t until);
