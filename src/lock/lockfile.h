#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/pathat.h"
#include "lock/pidfile.h"

struct fileinfo;

/*
 * A lock file: the process that holds the lock has an flock(2) on the file AT
 * its name, with its PID in the file. The file is made locked and with the PID,
 * and is unlinked before it is released. So a process that has opened and
 * locked the file has to look whether the name is still this file's, and else
 * to open it again. The processes of a fork share the lock: flock(2).
 */
struct lockfile {
	struct pathat at;
	int fd; /* or -1 */
	bool is_taken;
	bool is_alias; /* the run has taken this file by another name */
	pid_t holder;  /* the living process that the file names; 0: the process
	                * that holds it has an flock(2) on it */
	/* If it was taken over: */
	pid_t last_owner; /* 0: the file named no process */
	enum pidfile_owner last_owner_state;
};

/*
 * Looks whether there can be a lock file AT this name: there is a lock file, or
 * nothing, in a directory that may be written. Returns 0, or -1 with errno:
 * EUSERS if it is another user's, and not root's, where others may write;
 * ELOOP, EISDIR or ENOTSUP if it is a symbolic link, a directory, or no regular
 * file for another reason; EINVAL if it holds anything but a PID.
 */
int lockfile_check(const struct pathat *at);

/* Looks whose FILE is, which is AT this name. Returns 0, or -1 with errno:
 * EUSERS if it is another user's, and not root's, where others may write. */
int lockfile_check_owner(const struct pathat *at, const struct fileinfo *file);

/* Words for errno of these functions and of cleanup_end: "it is a symbolic
 * link", or else those of strerror(3). */
const char *lockfile_refusal(int why);

/* Takes LOCK if no living process holds it. Returns 0, or -1 with errno:
 * EWOULDBLOCK if a process holds it, with LOCK->holder set and LOCK->fd open to
 * wait with; or if the file changes all the time; or as lockfile_check. */
int lockfile_take(struct lockfile *lock);

/* Writes PID into LOCK, which is taken, if it still says FROM. */
void lockfile_hand_over(const struct lockfile *lock, pid_t from, pid_t pid);

/* Removes LOCK, which is taken, if it says one of OWNERS or is empty, and
 * releases it in any case. Returns 0, or -1 with errno of read(2) or unlink(2).
 */
int lockfile_release(struct lockfile *lock, const pid_t owners[2]);

/* Closes LOCK's descriptor, and does no more. Keeps errno. */
void lockfile_close(struct lockfile *lock);

/* Which lock files have no owner. */
struct lockfile_rule {
	bool without_pid; /* those that hold no PID */
	bool is_strict;   /* of the others, those whose PID is dead or reused,
	                   * and one of own; else those of which one is true */
	const pid_t *own; /* two PIDs */
	/* If not NULL: the file of which this is so, which may also be an empty
	 * directory. Another file AT the name is left. */
	const struct fileinfo *file;
};

/*
 * Removes the lock file AT its name if it has no owner by RULE and no flock(2).
 * Returns 1; 0 if there is nothing to be removed; or -1 with errno: EWOULDBLOCK
 * if only an flock(2) is in the way, ENODATA if only the want of a PID is.
 */
int lockfile_remove(const struct pathat *at, const struct lockfile_rule *rule);
