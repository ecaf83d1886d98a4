#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lockfile;
struct pathat;

enum lock_result {
	LOCK_TAKEN,
	LOCK_FREE,        /* in lockset.c only: may be free, try again */
	LOCK_HELD,        /* by another process, until the deadline */
	LOCK_SIGNALLED,   /* a terminating signal came */
	LOCK_PARENT_LOST, /* the process of PARENT_FD is dead */
	LOCK_CANNOT_WAIT, /* errno is of signalfd(2) */
	LOCK_FAILED,      /* errno is of lockfile_take */
};

/* The locks of a run, which has all or none. */
struct lockset {
	struct lockfile *locks; /* with their paths set, and fd -1 */
	size_t count;
	pid_t owner; /* the PID in the locks that are taken */
	/* Set by lockset_take: */
	struct lockfile *refused; /* the lock that could not be taken */
	int signal;               /* the signal that ended the wait */
};

/* Takes all locks of SET, or none. All signals must be blocked. Waits for a
 * lock that another process holds until DEADLINE (duration_now(), or NEVER) or
 * the death of PARENT_FD (a pidfd, or -1), and holds no other lock meanwhile,
 * so that runs cannot deadlock. */
enum lock_result lockset_take(struct lockset *set, int64_t deadline,
                              int parent_fd);

/* Whether AT is the file of a lock that SET has taken. */
bool lockset_has(const struct lockset *set, const struct pathat *at);

/* Replaces set->owner in the locks by OWNER. May hang in a file system. */
void lockset_hand_over(const struct lockset *set, pid_t owner);

/* Releases all locks, and unlinks the files that are empty or have the PID
 * set->owner or HEIR. Tells if unlinking fails. May hang in a file system. */
void lockset_release(struct lockset *set, pid_t heir);
