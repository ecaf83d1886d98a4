#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "inspect/syscall.h"

#define POLLSET_MAX 64

/* The descriptors that a process waits for in poll(2), select(2), epoll(7) and
 * their like. */
struct pollset {
	bool is_more; /* FDS does not have all descriptors */
	size_t count;
	int fds[POLLSET_MAX];
};

/* Reads the descriptors that process PID waits for in CALL, of kind POLL,
 * SELECT or EPOLL, into *POLLSET. MAY_HAVE_CHANGED: other threads of PID may
 * write to its memory, so that only descriptors on the caller's own stack are
 * certain. Waits for PID's mmap_lock as procfs_read_memory(). */
void pollset_read(struct pollset *pollset, pid_t pid,
                  const struct systemcall *call, bool may_have_changed);
