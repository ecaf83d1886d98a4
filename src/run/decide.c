/* The decisions: what a run does next, and with which status wdrun ends. */
#include "run/decide.h"

#include <signal.h>

#include "base/duration.h"
#include "base/status.h"
#include "run/reason.h"
#include "run/run.h"

#define CANCELS_TO_KILL 3 /* terminating signals */

bool
state_nobody_left(const struct run *run)
{
	return run->tree_is_empty ||
	       (run->target.exited_by_itself &&
	        run->options.survivors == SURVIVORS_LEAVE);
}

bool
state_output_is_bounded(const struct run *run)
{
	return run->cancel.count > 0 || run->parent.is_lost ||
	       run->watchers.is_front || run->stop == REASON_TIMEOUT;
}

/* No process is left to wait for, but perhaps undelivered output. */
static enum reason
decide_drain(const struct run *run, int64_t now)
{
	if (!run->output.is_open || run->watchers.front_is_lost)
		return run->tree_is_empty ? REASON_TREE_EMPTY
		                          : REASON_SURVIVORS_LEFT;
	if (now >= run->timers.due[TIMER_DRAIN] ||
	    run->cancel.count >= CANCELS_TO_KILL)
		return REASON_OUTPUT_STUCK;
	return run->state == STATE_RUNNING ? REASON_TARGET_EXITED : REASON_NONE;
}

/* A terminal pauses a run, but not a stop that has begun. */
static bool
is_paused(const struct run *run)
{
	return run->timers.paused_at != NEVER && run->state < STATE_STOPPING;
}

/* What can end a run that is not being stopped yet. */
static enum reason
decide_alive(const struct run *run, int64_t now)
{
	/* Comes first: a command that exits just in time has not timed out. */
	if (run->state == STATE_RUNNING && run->target.has_exited)
		return REASON_TARGET_EXITED;
	if (run->cancel.count > 0)
		return REASON_CANCELLED;
	if (run->parent.is_lost)
		return REASON_PARENT_LOST;
	/* While a terminal has stopped the run, no timer counts. */
	if (is_paused(run))
		return REASON_NONE;

	const enum reason why = timers_reason(&run->timers, run->state, now);

	/* After the text of --until, a command hangs, and is not late. */
	return why == REASON_TIMEOUT && run->output_watch.is_complete
	           ? REASON_UNTIL
	           : why;
}

enum reason
decide(const struct run *run, int64_t now)
{
	if (run->state == STATE_DONE)
		return REASON_NONE;
	if (run->tree_is_empty && !run->output.is_open)
		return REASON_TREE_EMPTY;
	if (run->watchers.front_is_lost && run->state != STATE_KILLING)
		return REASON_FRONT_LOST;
	if (state_nobody_left(run) && !is_paused(run))
		return decide_drain(run, now);
	/* Who is alive now could not be killed. */
	if (run->state == STATE_KILLING)
		return REASON_LAST_BOUND;
	if (run->state < STATE_STOPPING)
		return decide_alive(run, now);
	if (run->state == STATE_STOPPING &&
	    run->cancel.count >= CANCELS_TO_KILL)
		return REASON_THIRD_SIGNAL;
	return timers_reason(&run->timers, run->state, now);
}

enum state
state_next(enum state state, enum reason why)
{
	return why == REASON_NONE ? state : reason_row(why)->next;
}

int64_t
state_deadline(const struct run *run)
{
	const struct timers *const timers = &run->timers;

	if (is_paused(run))
		return timers->due[TIMER_WAKE];
	if (state_nobody_left(run))
		return timers->due[TIMER_DRAIN] < timers->due[TIMER_WAKE]
		           ? timers->due[TIMER_DRAIN]
		           : timers->due[TIMER_WAKE];
	return timers_next(timers, run->state);
}

static struct outcome
outcome_of_timeout(const struct run *run)
{
	const struct options *const options = &run->options;
	const struct outcome target = run->target.outcome;
	/* timeout(1) dies by SIGKILL then: a shell shows 137, as POSIX has
	 * it. */
	const bool is_told = options->is_timeout &&
	                     target.kind == OUTCOME_SIGNAL &&
	                     target.value == SIGKILL;

	if ((options->preserve_status || is_told) &&
	    target.kind != OUTCOME_UNKNOWN)
		return target;
	return (struct outcome){ OUTCOME_EXIT, STATUS_TIMED_OUT };
}

struct outcome
run_outcome(const struct run *run)
{
	const struct outcome *const target = &run->target.outcome;
	const int status = reason_row(run->stop)->status;

	if (run->target.exited_by_itself)
		return *target;
	if (status == STATUS_TIMED_OUT)
		return outcome_of_timeout(run);
	if (status != STATUS_OF_TARGET)
		return (struct outcome){ OUTCOME_EXIT, status };
	return target->kind != OUTCOME_UNKNOWN
	           ? *target
	           : (struct outcome){ OUTCOME_EXIT, STATUS_FAILED };
}
