#ifndef WDRUN_CHILDREN_H
#define WDRUN_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define ANY_CHILD 0

/* What a look at the children can find besides a PID. */
#define CHILD_NONE_READY 0
#define CHILD_NONE_LEFT  (-1)
#define CHILD_UNKNOWN    (-2)

/*
 * Looks for an event that OPTIONS of waitid(2) ask for, of the child PID or of
 * ANY_CHILD, and never waits for one. Returns the PID of the child that has
 * one, with *INFO filled; or one of the above. An error that says nothing of
 * the children, which a filter or the lack of memory may make, is tried again
 * for a second before the answer is CHILD_UNKNOWN.
 */
pid_t children_look(pid_t pid, int options, siginfo_t *info);

/*
 * Whether PID, or ANY_CHILD, may be a child that is alive. One system call:
 * without WEXITED a zombie is nothing to wait for, so ECHILD says that none is
 * alive, while the zombie that holds the target's PID stays
 * (wait_consider_task() and wait_task_zombie() in the kernel).
 */
bool children_are_alive(pid_t pid);

/* Reaps PID, or ANY_CHILD, if it is dead. Returns its PID, or as above. */
pid_t children_reap(pid_t pid);

#endif
