#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/fileinfo.h"
#include "base/pathat.h"

/*
 * --cleanup: a lock of the command's own, a file or (with mkdir(1)) a
 * directory, which has to be removed when all processes of the run are dead and
 * none of them has removed it.
 *
 * A PID in the file names its owner. Without a PID, any living run with the
 * same --cleanup may have made the file, unless the file was there when that
 * run began. So each run claims at its beginning that it may make the file, and
 * a run removes at its end what no other run claims.
 */
struct cleanup {
	struct pathat at;
	struct fileid before; /* what was there when the run began */
	int claim_fd;         /* the directory with the claim, or -1 */
	const char *claim;    /* the name that is claimed there */
	pid_t watchers[2];    /* their PIDs in the file mean this run, too: the
	                       * front may have been a shell before an exec */
};

/* Looks up the absolute PATH, and makes the system calls of cleanup_begin, but
 * claims nothing: a run that ended at this moment would leave its file to a run
 * that has not begun. Returns 0, or -1 with errno of pathat_open. */
int cleanup_open(struct cleanup *cleanup, const char *path);

/* Notes what is there now, and claims what may be there later. */
void cleanup_begin(struct cleanup *cleanup);

/*
 * Removes the file of CLEANUP, if no process has an flock(2) on it: a file
 * whose PID is dead or reused; and if IS_OVER, that is, all processes of the
 * run are dead, a file without a PID or an empty directory that was not there
 * before and that no living run claims. Returns 1; 0 if there is nothing to be
 * removed; or -1 with errno: ENOTEMPTY, EBUSY if it is claimed, or as of
 * lockfile_remove and lockfile_check.
 */
int cleanup_end(const struct cleanup *cleanup, bool is_over);

/* Compares two structs that begin with a path, for array_sort(): the longest
 * path comes first, so that a file comes before the directory that it is in. */
int cleanup_compare(const void *left, const void *right);
