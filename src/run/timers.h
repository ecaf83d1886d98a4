#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "watchdog.h"

/* The times at which a run has something to do without an event. The watcher
 * sleeps until the earliest. A table in timers.c says in which states a timer
 * wakes the watcher, and for which reason it then changes the state. If several
 * timers are due, the first in this list gives the reason. */
enum timer {
	TIMER_TIMEOUT,         /* --timeout */
	TIMER_UNTIL,           /* --until-grace, once the text was found */
	TIMER_IDLE,            /* --idle-timeout */
	TIMER_MAX_AFTER_EXIT,  /* --max-after-exit */
	TIMER_IDLE_AFTER_EXIT, /* --idle-after-exit */
	TIMER_AFTER_CANCEL,    /* --timeout, where a cancel has begun */
	TIMER_KILL,            /* --kill-after: SIGKILL follows */
	TIMER_READY,           /* shortly before --timeout: priority.h */
	TIMER_HEARTBEAT,       /* --heartbeat */
	TIMER_SAMPLE,          /* the survivors' activity is sampled */
	TIMER_REAP,            /* the children are looked at: supervisor.c */
	TIMER_WAKE,            /* the next SIGCONT for a stopped front */
	TIMER_DRAIN,           /* waits no longer for undelivered output */
	TIMER_COUNT,
};

/* Nanoseconds of CLOCK_MONOTONIC, as in base/duration.h. */
struct timers {
	int64_t due[TIMER_COUNT]; /* NEVER where the timer is not set */
	int64_t paused_at;  /* when a terminal stopped the run, else NEVER */
	int64_t resumed_at; /* the end of the latest pause, or 0 */
};

/* Sets no timer. */
void timers_init(struct timers *timers);

/* Whether TIMER is due at NOW. */
bool timers_is_due(const struct timers *timers, enum timer timer, int64_t now);

/* The earliest timer that wakes the watcher of a run in STATE, or NEVER. */
int64_t timers_next(const struct timers *timers, enum state state);

/* The reason of the first timer that is due at NOW in STATE, or REASON_NONE. */
enum reason timers_reason(const struct timers *timers, enum state state,
                          int64_t now);

/* A terminal has stopped the run at NOW: the bounds on the command stand still
 * until timers_resume(). Does nothing during a pause. */
void timers_pause(struct timers *timers, int64_t now);

/* The run goes on at NOW: the bounds are put off by the length of the pause, if
 * there was a pause. */
void timers_resume(struct timers *timers, int64_t now);
