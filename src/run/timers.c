/* The timers of a run: a table says what each timer is for. */
#include "run/timers.h"

#include <stddef.h>

#include "base/duration.h"

#define IN(state) (1U << (state))
#define ALIVE     (IN(STATE_RUNNING) | IN(STATE_LINGERING))

static const struct {
	unsigned states;    /* in which the timer wakes the watcher */
	bool pauses;        /* while a terminal has stopped the run */
	enum reason reason; /* for a change of state, when the timer is due */
} table[TIMER_COUNT] = {
	[TIMER_TIMEOUT] = { ALIVE, true, REASON_TIMEOUT },
	[TIMER_UNTIL] = { IN(STATE_RUNNING), true, REASON_UNTIL },
	[TIMER_IDLE] = { IN(STATE_RUNNING), true, REASON_SILENCE },
	[TIMER_MAX_AFTER_EXIT] = { IN(STATE_LINGERING), true,
	                           REASON_SURVIVORS_BUSY },
	[TIMER_IDLE_AFTER_EXIT] = { IN(STATE_LINGERING), true,
	                            REASON_SURVIVORS_IDLE },
	[TIMER_AFTER_CANCEL] = { IN(STATE_STOPPING), false, REASON_TIMEOUT },
	[TIMER_KILL] = { IN(STATE_STOPPING), true, REASON_GRACE_OVER },
	[TIMER_READY] = { ALIVE, true, REASON_NONE },
	[TIMER_HEARTBEAT] = { ALIVE, true, REASON_NONE },
	[TIMER_SAMPLE] = { IN(STATE_LINGERING), false, REASON_NONE },
	[TIMER_REAP] = { ALIVE | IN(STATE_STOPPING), false, REASON_NONE },
	[TIMER_WAKE] = { ALIVE | IN(STATE_STOPPING), false, REASON_NONE },
	/* state_deadline() in decide.c waits for it, if only output is left. */
	[TIMER_DRAIN] = { 0, false, REASON_NONE },
};

void
timers_init(struct timers *timers)
{
	for (size_t i = 0; i < TIMER_COUNT; i++)
		timers->due[i] = NEVER;
	timers->paused_at = NEVER;
	timers->resumed_at = 0;
}

bool
timers_is_due(const struct timers *timers, enum timer timer, int64_t now)
{
	return now >= timers->due[timer];
}

int64_t
timers_next(const struct timers *timers, enum state state)
{
	int64_t next = NEVER;

	for (size_t i = 0; i < TIMER_COUNT; i++) {
		if ((table[i].states & IN(state)) != 0 && timers->due[i] < next)
			next = timers->due[i];
	}
	return next;
}

enum reason
timers_reason(const struct timers *timers, enum state state, int64_t now)
{
	for (enum timer i = 0; i < TIMER_COUNT; i++) {
		if ((table[i].states & IN(state)) != 0 &&
		    table[i].reason != REASON_NONE &&
		    timers_is_due(timers, i, now))
			return table[i].reason;
	}
	return REASON_NONE;
}

void
timers_pause(struct timers *timers, int64_t now)
{
	if (timers->paused_at == NEVER)
		timers->paused_at = now;
}

void
timers_resume(struct timers *timers, int64_t now)
{
	if (timers->paused_at == NEVER)
		return;
	for (size_t i = 0; i < TIMER_COUNT; i++) {
		if (table[i].pauses)
			timers->due[i] = duration_add(timers->due[i],
			                              now - timers->paused_at);
	}
	timers->paused_at = NEVER;
	timers->resumed_at = now;
}
