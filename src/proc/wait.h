#pragma once

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
 * have __WCLONE (helpers alone) or __WALL. Returns the PID of the child with
 * the event, and fills *INFO; or a value from above.
 */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/* Whether PID, or ANY_CHILD, is a living child and no helper. Without WEXITED,
 * waitid(2) passes over zombies, so that ECHILD means that no such child is
 * alive (wait_consider_task(), wait_task_zombie() in the kernel). */
bool wait_has_living(pid_t pid);

/* Reaps PID, or ANY_CHILD, helpers included, if dead. Returns as
 * wait_peek(). */
pid_t wait_reap(pid_t pid);
