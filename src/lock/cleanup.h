#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * --cleanup: a lock that COMMAND makes, a file or (by mkdir(1)) a directory,
 * and that is removed if it is still there when all processes of the run are
 * dead.
 *
 * A PID in the file tells whose it is. Without one it may be of any run that
 * names the file, and began before the file was made. So a run notes at its
 * beginning what is there, and claims, for all to see, what is made from then
 * on; at its end it leaves what was there, or is claimed by an older run.
 */

/* What is there, but when it was made is not known; or it could not be looked
 * at. */
#define CLEANUP_UNKNOWN INT64_MAX

struct cleanup {
	const char *path; /* of path_resolve(), with PATH_MAY_MISS */
	int64_t before;   /* when what was there at the beginning was made, in
	                   * nanoseconds since the epoch; 0: nothing was there;
	                   * or CLEANUP_UNKNOWN */
	int claim_fd;     /* the directory, with the claim; or -1 */
};

/* Notes what is there, and claims what is made later. */
void cleanup_begin(struct cleanup *cleanup);

/*
 * Drops the claim of CLEANUP, and removes what the run has left: a file with
 * the PID of a dead process, or one of OWN (two PIDs, or 0), unless a process
 * has an flock(2) on it; with IS_OVER (all processes of the run are dead) also
 * a file without a PID, or an empty directory, by the rule above. Returns 1; 0
 * if there is nothing to remove; or -1 with an errno for lock_error().
 */
int cleanup_end(const struct cleanup *cleanup, const pid_t own[2],
                bool is_over);
