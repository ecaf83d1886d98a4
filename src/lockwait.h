#ifndef WDRUN_LOCKWAIT_H
#define WDRUN_LOCKWAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct run;
struct lockfile;

/* Sleeping until a lock that somebody holds may be free. */
struct lockwait {
	int signal_fd;
	int change_fd; /* an inotify instance: the file has changed */
	int holder_fd; /* a pidfd of who is named in the file */
	pid_t helper;  /* which blocks in flock(2) */
	int signal;    /* that ended it */
	int why;       /* errno, where signals cannot be heard */
	/* What it is about: */
	uint64_t inode;
	bool is_flocked;
	pid_t holder;
};

enum lockwait_end {
	LOCKWAIT_CHANGED, /* try again */
	LOCKWAIT_OVER,    /* the time */
	LOCKWAIT_SIGNAL,  /* that asks to end */
	LOCKWAIT_STOP,    /* a terminal's stop */
	LOCKWAIT_FAILED,  /* signals cannot be heard */
	LOCKWAIT_CALLER_LOST,
};

/*
 * Begins to watch LOCK, which is held and open. What happens from now on ends
 * the sleep, so LOCK has to be tried once more in between. Signals have to be
 * blocked. Nothing fails: what cannot be watched is looked at by the clock.
 */
void lockwait_begin(struct run *run, const struct lockfile *lock,
                    struct lockwait *wait);

/* Whether it is still the same file, held in the same way, that is watched. */
bool lockwait_is_about(const struct lockwait *wait,
                       const struct lockfile *lock);

/* Sleeps until something happens, or until DEADLINE. Signals that ask for
 * nothing of ours are dropped, there being no command. */
enum lockwait_end lockwait_sleep(const struct run *run, struct lockwait *wait,
                                 int64_t deadline);

/* Ends the watch. If the helper has got the lock, it is the run's. */
void lockwait_end(struct run *run, struct lockwait *wait);

#endif
