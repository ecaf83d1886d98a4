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
 * ANY_CHILD, without waiting. Helpers (helper.h) are left out, unless OPTIONS
 * have __WCLONE (helpers alone) or __WALL. Returns the PID of the child that
 * has the event, with *INFO filled, or a value from above: CHILD_UNKNOWN where
 * time and again a filter or an emulator let the call fail, not by ECHILD.
 */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/* Whether PID, or ANY_CHILD, may be a child that is alive and no helper.
 * Without WEXITED, waitid(2) passes over zombies, and ECHILD says that no such
 * child is alive (wait_consider_task(), wait_task_zombie() in the kernel). */
bool wait_has_living(pid_t pid);

/* Reaps PID, or ANY_CHILD, if it is dead; also a helper. Returns its PID, or as
 * wait_peek() does. */
pid_t wait_reap(pid_t pid);
