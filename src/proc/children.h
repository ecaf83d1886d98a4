#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>

#define ANY_CHILD       0
#define CHILD_NONE_LEFT (-1) /* ECHILD */

/* As waitid(2) with WNOHANG, for the child PID or ANY_CHILD: without WNOWAIT in
 * OPTIONS, a dead child is reaped. Returns the PID of the child with an event,
 * and fills *INFO; 0 without an event; CHILD_NONE_LEFT without such a child. */
pid_t wait_peek(pid_t pid, int options, siginfo_t *info);

/* Whether the child PID, or ANY_CHILD, is alive: no zombie. */
bool child_is_living(pid_t pid);

/* Returns the CPU time of all reaped children, in nanoseconds; and in *MEMORY
 * the most that one of them used, in KiB: getrusage(2). */
int64_t wait_usage(long *memory);

/* As pidfd_open(2): unlike a directory in /proc, a pidfd can be polled. */
int pidfd_open(pid_t pid);

/* Waits until CHILD (up to 1: there is none) is dead; at UNTIL, kills it. Does
 * not reap it. Each signal has to be blocked, or end this process. */
void wait_or_kill(pid_t child, int64_t until);
