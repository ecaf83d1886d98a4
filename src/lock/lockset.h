#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lockfile;

enum lock_result {
	LOCK_TAKEN,
	LOCK_FREE,        /* within lockset.c: it may be, try again */
	LOCK_HELD,        /* by another process, and the deadline is over */
	LOCK_SIGNALLED,   /* this process is asked to end */
	LOCK_PARENT_LOST, /* --die-with-parent */
	LOCK_CANNOT_WAIT, /* errno is of signalfd(2) */
	LOCK_FAILED,      /* errno is of lockfile_take */
};

/* The locks of a run: it has all of them, or none. */
struct lockset {
	struct lockfile *locks; /* with their paths set, and fd -1 */
	size_t count;
	pid_t owner; /* the PID in the locks that are taken */
	/* Set by lockset_take: */
	struct lockfile *refused; /* the lock that could not be taken */
	int signal;               /* that ended the wait */
};

/* Takes all the locks of SET, or none, with all signals blocked. Waits for a
 * lock that another process holds until DEADLINE, or the death of PARENT_FD, a
 * pidfd or -1; meanwhile holds no other, so that no runs wait for each other.
 */
enum lock_result lockset_take(struct lockset *set, int64_t deadline,
                              int parent_fd);

/* Writes OWNER into the locks instead of set->owner. May hang where a file
 * system does. */
void lockset_hand_over(const struct lockset *set, pid_t owner);

/* Removes and releases the locks that name set->owner or HEIR. Tells of a lock
 * file that cannot be removed. May hang where a file system does. */
void lockset_release(struct lockset *set, pid_t heir);
