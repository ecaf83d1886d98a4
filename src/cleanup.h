#ifndef WDRUN_CLEANUP_H
#define WDRUN_CLEANUP_H

#include <stdbool.h>
#include <sys/types.h>

#include "snapshot.h"

/*
 * A lock that is the command's own: a file, or with mkdir(1) a directory, which
 * has to go when all of the run is dead, and is not there any more to be
 * removed by its owner.
 *
 * Whose a lock with a PID in it is, the PID says. One without was made by one
 * of the runs that might have made it: those for which it was not there when
 * they began. So each run claims at its beginning that it might make such a
 * file, and who finds no other claim at his end knows that nobody who might own
 * it is alive.
 */
struct cleanup {
	const char *path; /* absolute */
	struct snapshot before;
	int claim_fd;      /* the directory that it is in or to be in, or -1 */
	pid_t watchers[2]; /* whose PID in it means this run, too: the front
	                    * was a shell before an exec, say */
};

/*
 * Looks at all that cleanup_begin will look at for PATH. Claims nothing: a run
 * that ends at this moment would leave what it made to this one, which finds it
 * when it begins, and leaves it as well.
 */
void cleanup_probe(const char *path);

/* Notes in CLEANUP, whose path is set, what is there now, and claims what may
 * be there later. */
void cleanup_begin(struct cleanup *cleanup);

/*
 * Removes what is at CLEANUP's path, if its owner is dead, and nobody has an
 * flock(2) on it: what holds a PID, if that is dead or reused; what holds none,
 * and an empty directory, if IS_OVER, that is, all of the run is dead, and the
 * run, or one that has ended, made it. Returns 1; 0 where there is nothing to
 * be removed; or -1 with errno: ENOTEMPTY, or ELOOP and ENOTSUP as of
 * lockfile_check for what is never removed.
 */
int cleanup_end(const struct cleanup *cleanup, bool is_over);

/* The same for a run whose processes are all dead, where BEFORE is what was at
 * PATH when it began. */
int cleanup_remove(const char *path, const struct snapshot *before);

#endif
