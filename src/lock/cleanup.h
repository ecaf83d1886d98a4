#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/fileinfo.h"
#include "base/pathat.h"

/*
 * --cleanup: a lock that COMMAND makes, a file or (by mkdir(1)) a directory.
 * wdrun removes the lock when all processes of the run are dead and none has
 * removed it.
 *
 * A PID in the file names the owner. A lock without a PID may be of any living
 * run with the same --cleanup, unless the lock existed before that run began.
 * So each run claims, at its beginning, that it may make the lock; and a run
 * removes, at its end, a lock that no other run claims.
 */
struct cleanup {
	struct pathat at;
	struct fileid before; /* file that existed when the run began */
	int claim_fd;         /* directory with the claim, or -1 */
	const char *claim;    /* name that is claimed there, or NULL */
	pid_t watchers[2];    /* their PIDs in the file mean this run: the
	                       * front may have been a shell before execve(2) */
};

/* Opens the directory of the absolute PATH, where a file system may hang. Makes
 * no claim yet: other runs would leave their files because of a run that has
 * not begun. claim_fd must be -1. Returns 0, or -1 with errno of
 * pathat_open(). */
int cleanup_open(struct cleanup *cleanup, const char *path);

/* Undoes cleanup_open(). Keeps errno. */
void cleanup_close(struct cleanup *cleanup);

/* Notes the file that exists now, and claims any later file. Ignores errors. */
void cleanup_begin(struct cleanup *cleanup);

/*
 * Withdraws the claim of CLEANUP, and removes its lock, unless a process has an
 * flock(2) on the file: a file whose PID is dead, reused or of a watcher; and
 * with IS_OVER (all processes of the run are dead) a file without a PID, or an
 * empty directory, that is new since the beginning and that no living run
 * claims. Returns 1; 0 if there is nothing to remove; or -1 with errno: EBUSY
 * for a claim, ENOTEMPTY, or of lockfile_remove().
 */
int cleanup_end(const struct cleanup *cleanup, bool is_over);

/* For array_sort(): compares structs that begin with a path. The longest path
 * comes first, so that a file comes before its directory. */
int cleanup_compare(const void *left, const void *right);
