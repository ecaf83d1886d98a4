#pragma once

#include <sys/syscall.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* Whether the process PID is dead, a zombie included. Never waits for PID. */
bool pid_is_dead(pid_t pid);

/* Sends SIGNAL to PID, a child that is not reaped, so that PID is its own.
 * Falls back on a pidfd if a filter forbids kill(2). Returns 0, or -1 with
 * errno of kill(2). */
int pid_kill(pid_t pid, int signal);

/* The numbers are the same on every architecture but alpha. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* Opens a pidfd, close-on-exec, of the process PID (Linux 5.3). Returns the
 * pidfd, or -1 with errno of pidfd_open(2). */
static inline int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Sends SIGNAL to the process of the pidfd FD (Linux 5.1). Returns 0, or -1
 * with errno of pidfd_send_signal(2). */
static inline int
pidfd_send_signal(int fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}
