#ifndef WDRUN_LOCKFILE_H
#define WDRUN_LOCKFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lockowner.h"

struct fileinfo;

/*
 * A lock file: held by flock(2) on the file that is at PATH, which holds the
 * PID of who has it. It comes into being locked and with its PID, and is
 * unlinked before it is released; so what is opened by its path has to be
 * looked at once more when it is locked, and again be opened if it is not at
 * the path any more. The lock belongs to the open file description, which the
 * processes of a fork share: flock(2).
 */
struct lockfile {
	const char *path; /* absolute */
	int fd;           /* or -1 */
	bool is_taken;
	bool is_alias; /* of a lock that this run has taken already */
	/* Of one that somebody else holds: */
	bool is_flocked; /* by flock(2), else by a PID alone */
	pid_t holder;    /* or 0, if that is not known */
	/* Of one that was taken over: */
	pid_t last_owner; /* or 0 */
	enum lockowner fate;
};

/*
 * Whether there may be a lock file at PATH: it is one, or nothing, in a
 * directory that is there. Returns 0, or -1 with errno: EINVAL where what is in
 * the file is no PID; ELOOP, EISDIR or ENOTSUP where it is a symbolic link, a
 * directory, or something else that is no regular file.
 */
int lockfile_check(const char *path);

/* Whether FILE, which is at PATH, is ours to be removed: in a sticky directory,
 * another user's is not, though root could (unlink(2), EPERM). Returns 0, or -1
 * with errno, which then is EUSERS. */
int lockfile_check_owner(const char *path, const struct fileinfo *file);

/*
 * Takes LOCK, if nobody has it, be it from somebody who is dead. Returns 0, or
 * -1 with errno: EWOULDBLOCK where it is held, with LOCK saying by whom, and
 * its fd to wait with; those of lockfile_check; EPERM where it would have to be
 * taken over from another user in a sticky directory.
 */
int lockfile_take(struct lockfile *lock);

/* Writes PID into LOCK, which is taken, in the place of FROM, if it still says
 * that. */
void lockfile_hand_over(const struct lockfile *lock, pid_t from, pid_t pid);

/* Removes LOCK, which is taken, if it still says one of OWNERS, or nothing, and
 * releases it. Returns 0, or -1 with errno of read(2) or unlink(2), released
 * all the same. */
int lockfile_release(struct lockfile *lock, const pid_t owners[2]);

/* Lets go of LOCK's descriptor, and does no more. */
void lockfile_close(struct lockfile *lock);

/* Which locks are nobody's any more, besides those whose PID is dead or reused.
 */
struct lockfile_rule {
	bool without_pid; /* what is empty, or holds something else */
	pid_t own[2];     /* what says one of these; 0 for none */
};

/*
 * Removes the lock file at PATH, if it is nobody's by RULE, and nobody has an
 * flock(2) on it. Returns 1; 0 where there is nothing to be removed; or -1 with
 * errno.
 */
int lockfile_remove(const char *path, const struct lockfile_rule *rule);

#endif
