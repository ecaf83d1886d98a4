#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "inspect/syscall.h"

#define POLLSET_MAX 4

/* The descriptors that a process waits for in poll(2), select(2), epoll(7)… */
struct pollset {
	bool is_more; /* there are others, or some could not be read */
	size_t count;
	int fds[POLLSET_MAX];
};

/* Reads what process PID waits for in CALL, of kind POLL, SELECT or EPOLL, into
 * *POLLSET. With MAY_HAVE_CHANGED, as other threads of PID may write to the
 * memory, only a call without descriptors is certain. Waits as
 * procfs_read_memory does. */
void pollset_read(struct pollset *pollset, pid_t pid,
                  const struct systemcall *call, bool may_have_changed);
