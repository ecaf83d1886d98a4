#pragma once

#include <sys/wait.h>

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define ANY_CHILD 0

/* What wait_peek() and wait_reap() return if not a PID. */
#define CHILD_NONE_READY 0    /* no such child has such an event */
#define CHILD_NONE_LEFT  (-1) /* there is no such child: ECHILD */

/*
 * Looks, without waiting, for an event of the child PID, or of ANY_CHILD, that
 * OPTIONS of waitid(2) ask for. Leaves out helpers (helper.h), unless OPTIONS
 * have __WALL. Returns the PID of the child with the event, and fills *INFO; or
 * a value from above.
 */
static inline pid_t
wait_peek(pid_t pid, int options, siginfo_t *info)
{
	info->si_pid = CHILD_NONE_READY;
	/* With WNOHANG, ECHILD is the only failure. */
	return waitid(pid == ANY_CHILD ? P_ALL : P_PID, (id_t)pid, info,
	              options | WNOHANG) == -1
	           ? CHILD_NONE_LEFT
	           : info->si_pid;
}

/* Whether PID, or ANY_CHILD, is a living child and no helper. Without WEXITED,
 * waitid(2) passes over zombies, so that ECHILD means that no such child is
 * alive (wait_consider_task(), wait_task_zombie() in the kernel). */
static inline bool
wait_has_living(pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WSTOPPED | WNOWAIT, &info) != CHILD_NONE_LEFT;
}

/* Reaps PID, or ANY_CHILD, helpers included, if dead. Returns as
 * wait_peek(). */
static inline pid_t
wait_reap(pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WEXITED | __WALL, &info);
}
