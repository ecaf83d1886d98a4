#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "proc/signals.h"

/*
 * Helpers: processes of wdrun's own beside front and supervisor, each a child
 * of one of these two. A helper makes the calls that may block, so that no
 * watcher ever does.
 *
 * A helper is a clone child: its exit signal is not SIGCHLD, so that waitid(2)
 * without __WALL and __WCLONE does not see it, and ECHILD means that the tree
 * is empty. No process of the tree can hide as a clone child of a watcher: the
 * kernel gives SIGCHLD to an orphan (reparent_leader()) and to a process that
 * calls execve(2) (de_thread()), and CLONE_PARENT copies the exit signal of the
 * process that calls clone(2) (copy_process(); since Linux 5.10 without a
 * race). So the helpers of a supervisor that was killed become ordinary
 * children of the front; PR_SET_PDEATHSIG has ended them by then.
 */

/*
 * The names of wdrun's processes, as /proc/PID/comm has them; the front keeps
 * the name of its program. "pkill wdrun" is to find the front alone, and not
 * both watchers. --list tells by SUPERVISOR_STOPPING that a run is being
 * stopped. Other helpers keep the name of the watcher that forked them.
 */
#define WATCHER_NAME        "wd" /* what those of both watchers begin with */
#define SUPERVISOR_NAME     "wd-supervisor"
#define SUPERVISOR_STOPPING "wd-stopping"
#define RELAY_NAME          "wd-relay"
#define LOCKWAIT_NAME       "wd-lock"

/*
 * What a helper's death sends to its parent. No real-time signal, since the
 * kernel drops those where RLIMIT_SIGPENDING is reached; and a signal that is
 * ignored by default, since the parent may not have blocked signals yet. While
 * it is pending, another process's SIGURG to the parent is lost: signal(7).
 */
#define HELPER_EXIT_SIGNAL SIGURG

/* Tells a helper to end at once, in good order. A real-time signal, which
 * nobody sends to a whole process group by chance. */
#define HELPER_GIVE_UP SIGNAL_MAX

/* Forks a helper, which the kernel sends DEATH_SIGNAL when this process is
 * dead. Returns as fork(2). In the helper, neither raise(3), abort(3) nor
 * pthread functions may be called, and it ends by _exit(2). */
pid_t helper_fork(int death_signal);

/* In a helper: takes NAME, one of the above, and lets go of all descriptors but
 * stderr and the COUNT ones in KEEP, as fds_release() does. */
void helper_become(const char *name, int null_fd, const int keep[],
                   size_t count);

/* In a helper: lets HELPER_GIVE_UP in, which then ends a call that blocks, and
 * blocks all other signals. */
void helper_catch_give_up(void);

/* Whether the parent has sent this helper HELPER_GIVE_UP since. */
bool helper_is_to_end(void);

/* Whether SIGNAL, with CODE as its si_code, tells of a helper's death. */
bool helper_is_death(int signal, int code);

/* Whether PID is a helper of this process's that was not reaped yet, so that
 * the number is its own. False for 0 and -1. */
bool helper_is(pid_t pid);

/* Continues the helper PID, if a signal has stopped it. */
void helper_continue(pid_t pid);

/* Sends SIGNAL (0: none) to the helper PID until it is dead, and reaps it.
 * Returns whether it is dead; false after a fifth of a second, in which the
 * time does not count that the helper waits for a processor. */
bool helper_await(pid_t pid, int signal);

/* Waits until the helper PID is dead, and continues it if a signal stops it; at
 * DEADLINE, or as much later as the helper had to wait for a processor, kills
 * it. Returns whether it has ended before. */
bool helper_await_until(pid_t pid, int64_t deadline);

/* Ends the helper PID: by SIGNAL, and after a fifth of a second by SIGKILL.
 * Returns whether it is dead. A helper that hangs in the kernel is not waited
 * for: to hang there, and keep the watcher from it, is its purpose. */
bool helper_end(pid_t pid, int signal);

/* Has a helper do WORK, which may hang, on the SIZE bytes at DATA, and takes
 * over what the helper has made of them within a fifth of a second. Where no
 * process can be had, they stay as they are. */
void helper_do_in_time(void (*work)(void *data), void *data, size_t size);
