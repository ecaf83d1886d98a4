#pragma once

#include <sys/types.h>

struct process_list;

/* Returns the holder of the file lock for which WAITER, a process with one
 * thread, waits; or 0. Also searches LIST: processes inherit a lock of
 * flock(2), and the process that took the lock may be gone. */
pid_t lockholder_find(pid_t waiter, const struct process_list *list);
