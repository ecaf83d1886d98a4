#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/pathat.h"
#include "lock/pidfile.h"

struct fileinfo;

/*
 * A lock file: the process that holds the lock has an flock(2) on the file AT,
 * which contains its PID. The file is locked and has the PID before it gets its
 * name, and is unlinked before it is unlocked. So a process that has opened and
 * locked the file must check that the name still means this file, and else open
 * the name again. The processes of a fork share the lock: flock(2).
 */
struct lockfile {
	struct pathat at;
	int fd; /* or -1 */
	bool is_taken;
	bool is_alias; /* the run has taken this file by another name */
	pid_t holder;  /* living process whose PID is in the file; 0: an unknown
	                * process that has an flock(2) on the file */
	/* If a stale lock was taken over: */
	pid_t last_owner; /* 0: the file had no PID */
	enum pidfile_owner last_owner_state;
};

/*
 * Checks that AT is a lock file, or that there is no file and this user may
 * write the directory. Returns 0; or -1 with errno: EUSERS as
 * lockfile_check_owner(), ELOOP for a symbolic link, EISDIR for a directory,
 * ENOTSUP for another file that is not regular, EINVAL for content that is no
 * PID.
 */
int lockfile_check(const struct pathat *at);

/* Checks that FILE, which is AT, is of this user or root, or that no other user
 * can write its directory. Returns 0, or -1 with errno: EUSERS if not. */
int lockfile_check_owner(const struct pathat *at, const struct fileinfo *file);

/* Like strerror(3), for WHY, an errno of these functions or of cleanup_end():
 * "it is a symbolic link". */
const char *lockfile_refusal(int why);

/* Takes LOCK if no living process holds it. Returns 0; or -1 with errno of
 * lockfile_check(), or EWOULDBLOCK: a process holds LOCK, lock->holder is set,
 * and lock->fd is open to wait with, or -1 if the file changes all the time. */
int lockfile_take(struct lockfile *lock);

/* Replaces the PID FROM in LOCK, which is taken, by PID. Ignores errors. */
void lockfile_hand_over(const struct lockfile *lock, pid_t from, pid_t pid);

/* Unlinks LOCK, which is taken, if the file is empty or has a PID of OWNERS,
 * and releases LOCK in any case. Returns 0, or -1 with errno of read(2) or
 * unlink(2). */
int lockfile_release(struct lockfile *lock, const pid_t owners[2]);

/* Closes lock->fd, and does no more. Keeps errno. */
void lockfile_close(struct lockfile *lock);

/* Which lock files are stale. */
struct lockfile_rule {
	bool without_pid; /* files without a PID are */
	bool is_strict;   /* a PID must be dead or reused, and in own; false:
	                   * either is enough */
	const pid_t *own; /* two PIDs */
	/* If not NULL: the file, or empty directory, to which the rule applies;
	 * another file AT is left. */
	const struct fileinfo *file;
};

/* Unlinks the lock file AT if it is stale by RULE and no process has an
 * flock(2) on it. Returns 1; 0 if there is nothing to remove; or -1 with errno:
 * EWOULDBLOCK if only an flock(2) forbids it, ENODATA if only the missing PID
 * does. */
int lockfile_remove(const struct pathat *at, const struct lockfile_rule *rule);
