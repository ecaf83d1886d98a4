#ifndef WDRUN_WATCHED_H
#define WDRUN_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "systemcall.h"

#define WATCHED_MAX 4

/* The descriptors that a process waits for in poll(2), select(2), epoll(7) and
 * their like. */
struct watched {
	bool is_more; /* than these, or some could not be read */
	size_t count;
	int fds[WATCHED_MAX];
};

/* Reads what PID waits for in CALL, which is of KIND, into *WATCHED. May wait,
 * as peek does. */
void watched_read(struct watched *watched, pid_t pid,
                  const struct systemcall *call, enum systemcall_kind kind);

#endif
