#pragma once

#include <sys/syscall.h>
#include <sys/types.h>

#include <unistd.h>

/* Opens a pidfd, close-on-exec, of the process PID. Unlike a directory in
 * /proc, it can be polled for the process's death. Returns the pidfd, or -1
 * with errno of pidfd_open(2). */
static inline int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}
