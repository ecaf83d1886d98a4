#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Helpers: processes of wdrun's own beside front and supervisor. A helper makes
 * the calls that may block, so that its parent never blocks.
 *
 * A helper is a clone child (waitid(2)): its exit signal is not SIGCHLD, so
 * that waitid() without __WALL and __WCLONE does not see the helper, and ECHILD
 * means that the tree is empty. No process of the tree can hide as a clone
 * child of a watcher: the kernel gives SIGCHLD to an orphan (reparent_leader())
 * and to a process that calls execve(2) (de_thread()), and CLONE_PARENT copies
 * the exit signal of the caller of clone(2) (copy_process(); since Linux 5.10
 * without a race). So the helpers of a killed supervisor become ordinary
 * children of the front; PR_SET_PDEATHSIG kills these helpers.
 */

/* The names of wdrun's processes in /proc/PID/comm. The front keeps the name of
 * its program, so that "pkill wdrun" finds the front alone. --list takes a run
 * whose supervisor has the name SUPERVISOR_STOPPING for a run that is being
 * stopped. Other helpers keep the name of the watcher that forked them. */
#define SUPERVISOR_NAME     "wd-supervisor"
#define SUPERVISOR_STOPPING "wd-stopping"

/* The exit signal of a helper. No real-time signal: at RLIMIT_SIGPENDING the
 * kernel drops real-time signals. A signal that is ignored by default: the
 * parent may not have blocked signals yet. While SIGURG is pending, another
 * process's SIGURG to the parent is lost: signal(7). */
#define HELPER_EXIT_SIGNAL SIGURG

/* Forks a helper, which the kernel kills when the parent dies. Returns as
 * fork(2). The helper must end by _exit(2), and call neither raise(3), abort(3)
 * nor pthread functions. */
pid_t helper_fork(void);

/* Waits until HELPER is dead; or until the time is UNTIL: then kills it, and
 * waits no longer. -1: there is none. The helper is not reaped: the CPU time of
 * the reaped is the command's, getrusage(2). All signals are blocked, or end
 * this process. */
void helper_await(pid_t helper, int64_t until);
