#ifndef WDRUN_PIDFD_H
#define WDRUN_PIDFD_H

#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The numbers are the same everywhere but on alpha. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* A pidfd, close-on-exec, for the process PID (Linux 5.3). Returns it, or -1
 * with errno of pidfd_open(2). */
static inline int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Sends SIGNAL to the process that FD stands for (Linux 5.1). Returns 0, or -1
 * with errno of pidfd_send_signal(2). */
static inline int
pidfd_send_signal(int fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

#endif
