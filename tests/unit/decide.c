/* A table of decisions: what a run does, in each state, after each event. */
#include "run/decide.h"

#include <stddef.h>

#include "base/duration.h"
#include "check.h"
#include "run/reason.h"
#include "run/run.h"

#define NOW SECOND
#define DUE (NOW - 1)

static struct run
run_in(enum state state)
{
	struct run run = {
		.state = state,
		.options = { .timeout = NEVER, .survivors = SURVIVORS_KILL },
	};

	timers_init(&run.timers);
	return run;
}

/* Sets all timers but those that no decision depends on. */
static struct run
with_all_due(struct run run)
{
	for (size_t i = 0; i < TIMER_COUNT; i++) {
		if (i != TIMER_WAKE && i != TIMER_HEARTBEAT)
			run.timers.due[i] = DUE;
	}
	return run;
}

static enum reason
decided(struct run run, bool tree_is_empty)
{
	run.tree_is_empty = tree_is_empty;
	return decide(&run, NOW);
}

static void
check_running(void)
{
	struct run run = run_in(STATE_RUNNING);

	CHECK(decided(run, false) == REASON_NONE, "running");
	run.timers.due[TIMER_TIMEOUT] = DUE;
	CHECK(decided(run, false) == REASON_TIMEOUT, "late");
	run.cancel.count = 1;
	CHECK(decided(run, false) == REASON_CANCELLED, "late and cancelled");
	run.target.has_exited = true;
	CHECK(decided(run, false) == REASON_TARGET_EXITED, "just in time");
	CHECK(decided(run, true) == REASON_TREE_EMPTY, "nothing left");
	run.options.survivors = SURVIVORS_LEAVE;
	run.target.exited_by_itself = true;
	CHECK(decided(run, false) == REASON_SURVIVORS_LEFT, "leave");
	run.watchers.front_is_lost = true;
	CHECK(decided(run, false) == REASON_FRONT_LOST, "front lost");

	run = run_in(STATE_RUNNING);
	run.parent.is_lost = true;
	CHECK(decided(run, false) == REASON_PARENT_LOST, "caller lost");
}

static void
check_what_is_heard(void)
{
	struct run run = run_in(STATE_RUNNING);

	run.timers.due[TIMER_IDLE] = DUE;
	CHECK(decided(run, false) == REASON_SILENCE, "silent");
	run.timers.due[TIMER_UNTIL] = DUE;
	CHECK(decided(run, false) == REASON_UNTIL, "complete, and silent");
	run.timers.due[TIMER_TIMEOUT] = DUE;
	CHECK(decided(run, false) == REASON_TIMEOUT, "late before all");
	run.output_watch.is_complete = true;
	CHECK(decided(run, false) == REASON_UNTIL, "complete before late");
	run.target.has_exited = true;
	CHECK(decided(run, false) == REASON_TARGET_EXITED, "exited before all");
}

/* The tree is empty, and a reader has not taken everything yet. */
static void
check_draining(void)
{
	for (enum state state = STATE_RUNNING; state < STATE_DONE; state++) {
		struct run run = run_in(state);

		run.target.has_exited = true;
		run.output.is_open = true;
		CHECK(decided(run, true) == (state == STATE_RUNNING
		                                 ? REASON_TARGET_EXITED
		                                 : REASON_NONE),
		      "draining");
		run.timers.due[TIMER_TIMEOUT] = DUE;
		run.timers.due[TIMER_KILL] = DUE;
		run.timers.due[TIMER_SAMPLE] = DUE;
		run.tree_is_empty = true;
		CHECK(state_deadline(&run) == NEVER, "only the drain's");
		run.timers.due[TIMER_DRAIN] = DUE;
		CHECK(decided(run, true) == REASON_OUTPUT_STUCK, "stuck");
		run.output.is_open = false;
		CHECK(decided(run, true) == REASON_TREE_EMPTY, "drained");
	}
}

static void
check_lingering(void)
{
	struct run run = run_in(STATE_LINGERING);

	run.target.has_exited = true;
	CHECK(decided(run, false) == REASON_NONE, "lingering");
	CHECK(decided(run, true) == REASON_TREE_EMPTY, "lingering, empty");
	run.timers.due[TIMER_IDLE_AFTER_EXIT] = DUE;
	CHECK(decided(run, false) == REASON_SURVIVORS_IDLE, "idle");
	run.timers.due[TIMER_MAX_AFTER_EXIT] = DUE;
	CHECK(decided(run, false) == REASON_SURVIVORS_BUSY, "busy");
	run.timers.due[TIMER_TIMEOUT] = DUE;
	CHECK(decided(run, false) == REASON_TIMEOUT, "lingering, late");
	run.cancel.count = 1;
	CHECK(decided(run, false) == REASON_CANCELLED, "lingering, cancelled");
}

static void
check_stopping_and_killing(void)
{
	struct run run = run_in(STATE_STOPPING);

	run.timers.due[TIMER_TIMEOUT] = DUE;
	run.cancel.count = 2;
	CHECK(decided(run, false) == REASON_NONE, "stopping");
	run.timers.due[TIMER_KILL] = DUE;
	CHECK(decided(run, false) == REASON_GRACE_OVER, "grace over");
	run.cancel.count = 3;
	CHECK(decided(run, false) == REASON_THIRD_SIGNAL, "third signal");
	run.target.has_exited = true;
	CHECK(decided(run, true) == REASON_TREE_EMPTY, "stopped");

	run = run_in(STATE_KILLING);
	CHECK(decided(run, false) == REASON_LAST_BOUND, "last bound");
	run.watchers.front_is_lost = true;
	CHECK(decided(run, false) == REASON_LAST_BOUND, "last bound, no front");
}

static void
check_paused(void)
{
	for (enum state state = STATE_RUNNING; state < STATE_STOPPING;
	     state++) {
		struct run run = with_all_due(run_in(state));

		run.timers.paused_at = 0;
		CHECK(decided(run, false) == REASON_NONE, "paused");
		CHECK(state_deadline(&run) == NEVER, "paused");
		run.cancel.count = 1;
		CHECK(decided(run, false) == REASON_CANCELLED, "paused");
	}
}

/* Whatever happens, no state is followed by a state that lies before it. */
static void
check_that_states_only_advance(void)
{
	for (enum state state = STATE_RUNNING; state <= STATE_DONE; state++) {
		for (unsigned bits = 0; bits < 128; bits++) {
			struct run run = run_in(state);

			if (bits & 1)
				run = with_all_due(run);
			run.cancel.count = bits & 2 ? 3 : 0;
			run.watchers.front_is_lost = bits & 4;
			run.parent.is_lost = bits & 8;
			run.output.is_open = bits & 64;
			run.target.has_exited =
			    bits & 16 || state == STATE_LINGERING;

			const enum reason why =
			    decided(run, run.target.has_exited && bits & 32);

			CHECK(state_next(state, why) >= state, "order");
		}
	}
}

/* A timer without a row would wake nobody. */
static void
check_timers(void)
{
	for (enum timer timer = 0; timer < TIMER_COUNT; timer++) {
		bool wakes = timer == TIMER_DRAIN;

		for (enum state state = 0; state < STATE_DONE; state++) {
			struct run run = run_in(state);

			run.timers.due[timer] = DUE;
			wakes |= timers_next(&run.timers, state) == DUE;
		}
		CHECK(wakes, "each timer wakes the watcher in some state");
	}
}

static void
check_reasons(void)
{
	for (enum reason why = REASON_NONE; why < REASON_COUNT; why++) {
		const struct reason_row *const row = reason_row(why);

		CHECK(row->words != NULL, "each reason has words");
		CHECK(why == REASON_NONE || row->next != STATE_RUNNING,
		      "each reason leads somewhere");
		CHECK(reason_is_stop(why) || why == REASON_LAST_BOUND ||
		          row->telling == TELLING_NOTHING,
		      "what stops nothing is not told");
	}
}

static void
check_outcomes(void)
{
	const struct outcome own = { OUTCOME_SIGNAL, 15 };
	struct run run = run_in(STATE_DONE);

	run.stop = REASON_TIMEOUT;
	CHECK(run_outcome(&run).value == 124, "timeout, never seen to end");
	run.options.preserve_status = true;
	CHECK(run_outcome(&run).value == 124, "-p, never seen to end");
	run.target.has_exited = true;
	run.target.outcome = own;
	CHECK(run_outcome(&run).kind == OUTCOME_SIGNAL, "-p");
	run.options.preserve_status = false;
	CHECK(run_outcome(&run).value == 124, "timeout");
	run.target.exited_by_itself = true;
	CHECK(run_outcome(&run).value == 15, "timeout of the survivors");
	run.target.exited_by_itself = false;
	run.stop = REASON_UNTIL;
	CHECK(run_outcome(&run).value == 0, "complete");
	run.stop = REASON_SILENCE;
	CHECK(run_outcome(&run).value == 124, "silent");
	run.stop = REASON_CANCELLED;
	CHECK(run_outcome(&run).value == 15, "cancelled");
	run.target.outcome.kind = OUTCOME_UNKNOWN;
	CHECK(run_outcome(&run).value == 125, "unknown");
}

/* What is otherwise under the name timeout. */
static void
check_timeout(void)
{
	struct run run = run_in(STATE_DONE);

	run.stop = REASON_TIMEOUT;
	run.target.outcome = (struct outcome){ OUTCOME_SIGNAL, 9 };
	CHECK(run_outcome(&run).value == 124, "killed");
	run.options.is_timeout = true;
	CHECK(run_outcome(&run).kind == OUTCOME_SIGNAL, "killed, and told");
	run.target.outcome.value = 15;
	CHECK(run_outcome(&run).value == 124, "not killed");
	run.options.preserve_status = true;
	CHECK(run_outcome(&run).kind == OUTCOME_SIGNAL, "-p");

	run = run_in(STATE_RUNNING);
	run.options.survivors = SURVIVORS_LEAVE;
	run.target.has_exited = run.target.exited_by_itself = true;
	CHECK(decided(run, false) == REASON_SURVIVORS_LEFT, "left");
}

int
main(void)
{
	check_running();
	check_what_is_heard();
	check_lingering();
	check_draining();
	check_stopping_and_killing();
	check_paused();
	check_that_states_only_advance();
	check_timers();
	check_reasons();
	check_outcomes();
	check_timeout();
	return failures != 0;
}
