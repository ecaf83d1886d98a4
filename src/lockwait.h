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
};

enum lockwait_end {
	LOCKWAIT_CHANGED, /* try again */
	LOCKWAIT_OVER,    /* the time */
	LOCKWAIT_SIGNAL,
	LOCKWAIT_CALLER_LOST,
};

/*
 * Begins to watch LOCK, which is held and open. What happens from now on ends
 * the sleep, so LOCK has to be tried once more in between. Signals have to be
 * blocked. Nothing fails: what cannot be watched is looked at by the clock.
 */
void lockwait_begin(struct run *run, const struct lockfile *lock,
                    struct lockwait *wait);

/* Sleeps until something happens, or until DEADLINE. A terminal's stop is
 * obeyed; signals that ask for no end are dropped, there being no command. */
enum lockwait_end lockwait_sleep(const struct run *run, struct lockwait *wait,
                                 int64_t deadline);

/* Ends the watch. If the helper has got the lock, it is the run's. */
void lockwait_end(struct run *run, struct lockwait *wait);

#endif
