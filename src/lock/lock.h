#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lock/pidfile.h"

/*
 * --lock: a file with an flock(2), which holds the PID of the process that has
 * the lock. It is unlinked before it is unlocked: who has opened and locked it
 * has to look whether the name still means this file. The processes of a fork
 * share the lock: flock(2).
 */
struct lock {
	const char *path; /* of path_resolve() */
	struct pidfile file;
	bool is_new;      /* this process has made the file */
	pid_t holder;     /* if held: the living process that the file names; 0:
	                   * the file names none, but some process locks it */
	pid_t last_owner; /* if taken over: the dead process; else 0 */
};

enum lock_result {
	LOCK_TAKEN,
	LOCK_FREE,        /* in lock.c only: may be free, to be tried again */
	LOCK_HELD,        /* by another process, until the deadline */
	LOCK_PARENT_LOST, /* the process of parent_fd is dead */
	LOCK_FAILED,      /* with errno */
};

struct lock_wait {
	int64_t deadline;      /* of duration_now(), or NEVER */
	int parent_fd;         /* a pidfd, or -1 */
	uint64_t callers_mask; /* blocked signals, as in signals.h */
};

/* Opens the directory of PATH, of path_resolve(). Returns 0, or -1 with errno
 * of path_open(). */
int lock_open(struct lock *lock, const char *path);

/*
 * Takes all of the COUNT locks, which are not taken, or none. All signals have
 * to be blocked. Waits, with no lock held, so that two runs cannot wait for
 * each other, and with the caller's mask, so that signals act. Unless all are
 * taken, *REFUSED is the lock that could not be had. For errno see
 * lock_error().
 */
enum lock_result lock_take_all(struct lock *locks, size_t count,
                               const struct lock_wait *wait,
                               struct lock **refused);

/* Unlinks LOCK, which is taken, if its name still means this file, and the file
 * is blank or has a PID of OWNERS. Releases it in any case. Returns 0, or -1
 * with errno of unlink(2). */
int lock_release(struct lock *lock, const pid_t owners[2]);

/* Like strerror(3), for WHY, an errno of this folder: "it is a directory". */
const char *lock_error(int why);
