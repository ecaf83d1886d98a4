#ifndef WDRUN_SETTLE_H
#define WDRUN_SETTLE_H

#include <stdbool.h>

#include "../watchdog.h"
#include "cleanup.h"
#include "lockfile.h"
#include "locks.h"

#define ESTATE_FDS (2 * FILES_MAX + 1)

/* What watchers and helpers know of it together. */
struct estate_page {
	_Atomic bool tree_is_empty;
	_Atomic bool is_settled;
	_Atomic bool is_reported;
	struct outcome reported; /* the verdict in the report */
};

/* What a run has besides processes, and what is to be put in order when these
 * are dead. */
struct estate {
	pid_t owner; /* the PID that was written into the locks */
	size_t lock_count;
	struct lockfile locks[FILES_MAX];
	size_t cleanup_count;
	struct cleanup cleanups[FILES_MAX];
	int registry_fd;
	const char *directory; /* the caller's */
	int64_t started_at;    /* as duration_since_epoch() */
	struct estate_page *page;
};

/*
 * Makes RUN's estate, if it needs one, and opens the registry, where it ends
 * what runs before have left behind. Touches no lock yet. Returns 0, or -1
 * having told why not. For the time before signals are blocked, as file systems
 * that hang may hold it up.
 */
int settle_prepare(struct run *run);

/* Takes the locks and looks at what is to be cleaned up. Returns
 * LOCKS_ARE_TAKEN, or the status with which wdrun is to end, having told why;
 * where that is by a signal, it is the RUN's cancel_signal. */
int settle_begin(struct run *run);

/* Puts into KEEP, of ESTATE_FDS, the descriptors that a watcher needs on, -1
 * where there is none. */
void settle_keep(const struct run *run, int keep[]);

/* Lets go of these, in a helper. */
void settle_let_go(const struct run *run);

/* The front is dead: has a helper name the supervisor in the locks. */
void settle_inherit(struct run *run);

/* The processes are dead, or let go; what could not be killed is not. */
void settle_note_end(struct run *run);

/* In a front whose supervisor died when its work was done, but maybe for this:
 * settles, as the supervisor would have. */
void settle_for_supervisor(struct run *run);

/*
 * Puts the estate in order, the processes being dead as far as they can be: the
 * command's own locks, the entry of the registry, and then the locks that the
 * run holds. Done twice, it does nothing the second time. By a helper, which is
 * not waited for longer than five seconds: a file system may hang.
 */
void settle(struct run *run);

/* In the front, when all is over: output that was not delivered after all has
 * to be in the report, and the status that is returned, if it became another
 * one. */
void settle_amend(struct run *run);

/* The same here and now, for a run that comes to nothing. */
void settle_at_once(struct run *run);

#endif
