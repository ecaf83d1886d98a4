#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define ANY_CHILD 0

/* What a look at the children can find besides a PID. */
#define CHILD_NONE_READY 0    /* no such child has such an event */
#define CHILD_NONE_LEFT  (-1) /* there is no such child: ECHILD */
#define CHILD_UNKNOWN    (-2)

/*
 * Looks for an event that OPTIONS of waitid(2) ask for, of the child PID or of
 * ANY_CHILD, and never waits for one. Helpers (helper.h) are left out, unless
 * OPTIONS have __WCLONE (helpers alone) or __WALL. Returns the PID of the child
 * that has the event, with *INFO filled; or one of the above. Any error but
 * ECHILD says nothing of the children, and is a filter's or an emulator's: the
 * call is tried again, and at last the answer is CHILD_UNKNOWN.
 */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/*
 * Whether PID, or ANY_CHILD, may be a child that is alive and no helper. One
 * system call: without WEXITED a zombie is nothing to wait for, so ECHILD says
 * that no such child is alive, while the zombie that holds the target's PID
 * stays (wait_consider_task() and wait_task_zombie() in the kernel).
 */
bool wait_has_living(pid_t pid);

/* Reaps PID, or ANY_CHILD, if it is dead; also a helper. Returns its PID, or as
 * wait_peek() does. */
pid_t wait_reap(pid_t pid);
