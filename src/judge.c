/* What a run does next, and how it is to be seen in the end. */
#include "judge.h"

#include <stdlib.h>

#include "duration.h"
#include "timeout_personality.h"

#define CANCELS_TO_KILL 3

bool
judge_only_passes_on(const struct run *run)
{
	return run->options.is_timeout && run->options.kill_after == NEVER &&
	       run->state == STATE_RUNNING && !run->target_exited;
}

/* What ends a run from outside, as long as nothing has. */
static enum reason
judge_bounds(const struct run *run, const struct news *news)
{
	if (run->cancels > 0 && !judge_only_passes_on(run))
		return REASON_CANCELLED;
	if (run->caller_is_lost)
		return REASON_CALLER_LOST;
	if (news->now < run->clocks.timeout)
		return REASON_NONE;
	/* Its work was done: it is hung, not late. */
	return run->is_complete ? REASON_UNTIL : REASON_TIMEOUT;
}

static enum reason
judge_running(const struct run *run, const struct news *news)
{
	/* First of all, so that a command which just made it is not said to
	 * have been late. */
	if (run->target_exited)
		return REASON_TARGET_EXITED;

	const enum reason why = judge_bounds(run, news);

	if (why != REASON_NONE)
		return why;
	if (news->now >= run->clocks.until)
		return REASON_UNTIL;
	return news->now >= run->clocks.idle ? REASON_SILENCE : REASON_NONE;
}

static enum reason
judge_lingering(const struct run *run, const struct news *news)
{
	const enum reason why = judge_bounds(run, news);

	if (why != REASON_NONE)
		return why;
	if (news->now >= run->clocks.max_after_exit)
		return REASON_SURVIVORS_BUSY;
	if (news->now >= run->clocks.idle_after_exit)
		return REASON_SURVIVORS_IDLE;
	return REASON_NONE;
}

bool
judge_is_over(const struct run *run)
{
	return run->tree_is_empty ||
	       (run->target_left && run->options.survivors == SURVIVORS_LEAVE &&
	        !(run->options.is_timeout && run->cancels > 0));
}

bool
judge_is_hurried(const struct run *run)
{
	return run->cancels > 0 || run->caller_is_lost || run->is_front ||
	       run->stop == REASON_TIMEOUT;
}

/* Nobody is waited for but a reader of the output, if there is any left. */
static enum reason
judge_drain(const struct run *run, const struct news *news)
{
	if (!run->output.is_open || run->front_is_lost)
		return run->tree_is_empty ? REASON_TREE_EMPTY
		                          : REASON_SURVIVORS_LEFT;
	if (news->now >= run->clocks.drain || run->cancels >= CANCELS_TO_KILL)
		return REASON_OUTPUT_STUCK;
	return run->state == STATE_RUNNING ? REASON_TARGET_EXITED : REASON_NONE;
}

/* A stop that has begun is not stopped by a terminal. */
static bool
is_paused(const struct run *run)
{
	return run->paused_at != NEVER && run->state < STATE_STOPPING;
}

/* A run that a terminal stopped, whose clocks stand still. */
static enum reason
judge_paused(const struct run *run)
{
	if (run->state == STATE_RUNNING && run->target_exited)
		return REASON_TARGET_EXITED;
	return judge_bounds(run, &(struct news){ .now = 0 });
}

enum reason
judge(const struct run *run, const struct news *news)
{
	if (run->state == STATE_DONE)
		return REASON_NONE;
	if (run->tree_is_empty && !run->output.is_open)
		return REASON_TREE_EMPTY;
	if (run->front_is_lost && run->state != STATE_KILLING)
		return REASON_FRONT_LOST;
	if (is_paused(run))
		return judge_paused(run);
	if (judge_is_over(run))
		return judge_drain(run, news);

	switch (run->state) {
	case STATE_RUNNING:
		return judge_running(run, news);
	case STATE_LINGERING:
		return judge_lingering(run, news);
	case STATE_STOPPING:
		if (run->cancels >= CANCELS_TO_KILL && !run->options.is_timeout)
			return REASON_THIRD_SIGNAL;
		return news->now >= run->clocks.kill ? REASON_GRACE_OVER
		                                     : REASON_NONE;
	case STATE_KILLING:
		return news->now >= run->clocks.last ? REASON_LAST_BOUND
		                                     : REASON_NONE;
	case STATE_DONE:
		return REASON_NONE;
	}
	abort(); /* no other value exists */
}

enum state
judge_next_state(enum state state, enum reason why)
{
	switch (why) {
	case REASON_NONE:
		return state;
	case REASON_TARGET_EXITED:
		return STATE_LINGERING;
	case REASON_TIMEOUT:
	case REASON_SILENCE:
	case REASON_UNTIL:
	case REASON_CANCELLED:
	case REASON_CALLER_LOST:
	case REASON_SURVIVORS_IDLE:
	case REASON_SURVIVORS_BUSY:
		return STATE_STOPPING;
	case REASON_GRACE_OVER:
	case REASON_THIRD_SIGNAL:
	case REASON_FRONT_LOST:
	case REASON_SUPERVISOR_LOST:
		return STATE_KILLING;
	case REASON_TREE_EMPTY:
	case REASON_SURVIVORS_LEFT:
	case REASON_OUTPUT_STUCK:
	case REASON_LAST_BOUND:
		return STATE_DONE;
	}
	abort(); /* no other value exists */
}

bool
judge_is_stop(enum reason why)
{
	switch (judge_next_state(STATE_RUNNING, why)) {
	case STATE_STOPPING:
	case STATE_KILLING:
		return true;
	case STATE_RUNNING:
	case STATE_LINGERING:
	case STATE_DONE:
		return false;
	}
	abort(); /* no other value exists */
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
judge_next_deadline(const struct run *run)
{
	const struct clocks *const clocks = &run->clocks;

	if (is_paused(run))
		return clocks->wake;
	if (judge_is_over(run))
		return earlier(clocks->drain, clocks->wake);

	switch (run->state) {
	case STATE_RUNNING:
		return earlier(earlier(earlier(clocks->timeout, clocks->wake),
		                       clocks->heartbeat),
		               earlier(clocks->idle, clocks->until));
	case STATE_LINGERING:
		return earlier(
		    earlier(earlier(clocks->timeout, clocks->sample),
		            earlier(clocks->heartbeat, clocks->wake)),
		    earlier(clocks->idle_after_exit, clocks->max_after_exit));
	case STATE_STOPPING:
		return earlier(clocks->kill, clocks->wake);
	case STATE_KILLING:
		return earlier(clocks->sweep, clocks->last);
	case STATE_DONE:
		return NEVER;
	}
	abort(); /* no other value exists */
}

struct outcome
judge_verdict(const struct run *run)
{
	if (run->target_left)
		return run->target_outcome;
	if (run->stop == REASON_UNTIL)
		return (struct outcome){ OUTCOME_EXIT, 0 };
	if (run->stop == REASON_TIMEOUT && run->options.is_timeout)
		return timeout_personality_verdict(run);
	if ((run->stop == REASON_TIMEOUT || run->stop == REASON_SILENCE) &&
	    !(run->options.preserve_status &&
	      run->target_outcome.kind != OUTCOME_UNKNOWN))
		return (struct outcome){ OUTCOME_EXIT, STATUS_TIMED_OUT };
	if (run->target_outcome.kind != OUTCOME_UNKNOWN)
		return run->target_outcome;
	return (struct outcome){ OUTCOME_EXIT, STATUS_FAILED };
}
