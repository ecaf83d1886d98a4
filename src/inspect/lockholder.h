#pragma once

#include <sys/types.h>

struct process_list;

/* The process that holds the lock on a file which the process WAITER, with one
 * thread, waits for: looked for in LIST as well, as a process that inherited a
 * lock of flock(2) holds it too, and its owner may be gone. Or 0. */
pid_t lockholder_find(pid_t waiter, const struct process_list *list);
