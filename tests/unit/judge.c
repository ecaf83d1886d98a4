/* A table of decisions: what a run does, in each state, after each news. */
#include "../../src/judge.h"

#include "../../src/duration.h"
#include "check.h"

#define NOW SECOND
#define DUE (NOW - 1)

static struct run
run_in(enum state state)
{
	return (struct run){
		.state = state,
		.paused_at = NEVER,
		.clocks = NOTHING_DUE,
		.options = { .timeout = NEVER, .survivors = SURVIVORS_KILL },
	};
}

static struct run
with_all_due(struct run run)
{
	run.clocks = (struct clocks){ DUE, DUE, DUE, DUE, DUE,   DUE,  DUE,
		                      DUE, DUE, DUE, DUE, NEVER, NEVER };
	return run;
}

static enum reason
judged(struct run run, bool tree_is_empty)
{
	const struct news news = { .now = NOW };

	run.tree_is_empty = tree_is_empty;
	return judge(&run, &news);
}

static void
check_running(void)
{
	struct run run = run_in(STATE_RUNNING);

	CHECK(judged(run, false) == REASON_NONE, "running");
	run.clocks.timeout = DUE;
	CHECK(judged(run, false) == REASON_TIMEOUT, "late");
	run.cancels = 1;
	CHECK(judged(run, false) == REASON_CANCELLED, "late and cancelled");
	run.target_exited = true;
	CHECK(judged(run, false) == REASON_TARGET_EXITED, "just in time");
	CHECK(judged(run, true) == REASON_TREE_EMPTY, "nothing left");
	run.options.survivors = SURVIVORS_LEAVE;
	run.target_left = true;
	CHECK(judged(run, false) == REASON_SURVIVORS_LEFT, "leave");
	run.front_is_lost = true;
	CHECK(judged(run, false) == REASON_FRONT_LOST, "front lost");

	run = run_in(STATE_RUNNING);
	run.caller_is_lost = true;
	CHECK(judged(run, false) == REASON_CALLER_LOST, "caller lost");
}

static void
check_what_is_heard(void)
{
	struct run run = run_in(STATE_RUNNING);

	run.clocks.idle = DUE;
	CHECK(judged(run, false) == REASON_SILENCE, "silent");
	run.clocks.until = DUE;
	CHECK(judged(run, false) == REASON_UNTIL, "complete, and silent");
	run.clocks.timeout = DUE;
	CHECK(judged(run, false) == REASON_TIMEOUT, "late before all");
	run.is_complete = true;
	CHECK(judged(run, false) == REASON_UNTIL, "complete before late");
	run.target_exited = true;
	CHECK(judged(run, false) == REASON_TARGET_EXITED, "exited before all");
}

/* Nobody is left, but a reader has not taken everything yet. */
static void
check_draining(void)
{
	for (enum state state = STATE_RUNNING; state < STATE_DONE; state++) {
		struct run run = run_in(state);

		run.target_exited = true;
		run.output.is_open = true;
		CHECK(judged(run, true) == (state == STATE_RUNNING
		                                ? REASON_TARGET_EXITED
		                                : REASON_NONE),
		      "draining");
		run.clocks.timeout = DUE;
		run.clocks.kill = DUE;
		run.clocks.last = DUE;
		run.clocks.sample = DUE;
		run.tree_is_empty = true;
		CHECK(judge_next_deadline(&run) == NEVER, "only the drain's");
		run.clocks.drain = DUE;
		CHECK(judged(run, true) == REASON_OUTPUT_STUCK, "stuck");
		run.output.is_open = false;
		CHECK(judged(run, true) == REASON_TREE_EMPTY, "drained");
	}
}

static void
check_lingering(void)
{
	struct run run = run_in(STATE_LINGERING);

	run.target_exited = true;
	CHECK(judged(run, false) == REASON_NONE, "lingering");
	CHECK(judged(run, true) == REASON_TREE_EMPTY, "lingering, empty");
	run.clocks.idle_after_exit = DUE;
	CHECK(judged(run, false) == REASON_SURVIVORS_IDLE, "idle");
	run.clocks.max_after_exit = DUE;
	CHECK(judged(run, false) == REASON_SURVIVORS_BUSY, "busy");
	run.clocks.timeout = DUE;
	CHECK(judged(run, false) == REASON_TIMEOUT, "lingering, late");
	run.cancels = 1;
	CHECK(judged(run, false) == REASON_CANCELLED, "lingering, cancelled");
}

static void
check_stopping_and_killing(void)
{
	struct run run = run_in(STATE_STOPPING);

	run.clocks.timeout = DUE;
	run.cancels = 2;
	CHECK(judged(run, false) == REASON_NONE, "stopping");
	run.clocks.kill = DUE;
	CHECK(judged(run, false) == REASON_GRACE_OVER, "grace over");
	run.cancels = 3;
	CHECK(judged(run, false) == REASON_THIRD_SIGNAL, "third signal");
	run.target_exited = true;
	CHECK(judged(run, true) == REASON_TREE_EMPTY, "stopped");

	run = run_in(STATE_KILLING);
	run.clocks.kill = DUE;
	CHECK(judged(run, false) == REASON_NONE, "killing");
	run.clocks.last = DUE;
	CHECK(judged(run, false) == REASON_LAST_BOUND, "last bound");
	run.front_is_lost = true;
	CHECK(judged(run, false) == REASON_LAST_BOUND, "last bound, no front");
}

static void
check_paused(void)
{
	for (enum state state = STATE_RUNNING; state < STATE_STOPPING;
	     state++) {
		struct run run = with_all_due(run_in(state));

		run.paused_at = 0;
		CHECK(judged(run, false) == REASON_NONE, "paused");
		CHECK(judge_next_deadline(&run) == NEVER, "paused");
		run.cancels = 1;
		CHECK(judged(run, false) == REASON_CANCELLED, "paused");
	}
}

/* Whatever happens, no state is ever left for one that lies before it. */
static void
check_that_states_only_advance(void)
{
	for (enum state state = STATE_RUNNING; state <= STATE_DONE; state++) {
		for (unsigned bits = 0; bits < 128; bits++) {
			struct run run = run_in(state);

			if (bits & 1)
				run = with_all_due(run);
			run.cancels = bits & 2 ? 3 : 0;
			run.front_is_lost = bits & 4;
			run.caller_is_lost = bits & 8;
			run.output.is_open = bits & 64;
			run.target_exited =
			    bits & 16 || state == STATE_LINGERING;

			const enum reason why =
			    judged(run, run.target_exited && bits & 32);

			CHECK(judge_next_state(state, why) >= state, "order");
		}
	}
}

static void
check_verdicts(void)
{
	const struct outcome own = { OUTCOME_SIGNAL, 15 };
	struct run run = run_in(STATE_DONE);

	run.stop = REASON_TIMEOUT;
	CHECK(judge_verdict(&run).value == 124, "timeout, never seen to end");
	run.options.preserve_status = true;
	CHECK(judge_verdict(&run).value == 124, "-p, never seen to end");
	run.target_exited = true;
	run.target_outcome = own;
	CHECK(judge_verdict(&run).kind == OUTCOME_SIGNAL, "-p");
	run.options.preserve_status = false;
	CHECK(judge_verdict(&run).value == 124, "timeout");
	run.target_left = true;
	CHECK(judge_verdict(&run).value == 15, "timeout of the survivors");
	run.target_left = false;
	run.stop = REASON_UNTIL;
	CHECK(judge_verdict(&run).value == 0, "complete");
	run.stop = REASON_SILENCE;
	CHECK(judge_verdict(&run).value == 124, "silent");
	run.stop = REASON_CANCELLED;
	CHECK(judge_verdict(&run).value == 15, "cancelled");
	run.target_outcome.kind = OUTCOME_UNKNOWN;
	CHECK(judge_verdict(&run).value == 125, "unknown");
}

static void
check_timeout_personality(void)
{
	struct run run = run_in(STATE_RUNNING);

	run.options.is_timeout = true;
	run.options.kill_after = NEVER;
	run.options.survivors = SURVIVORS_LEAVE;
	run.cancels = 3;
	CHECK(judged(run, false) == REASON_NONE, "passed on");
	run.clocks.timeout = DUE;
	CHECK(judged(run, false) == REASON_TIMEOUT, "passed on, then late");
	run.state = STATE_STOPPING;
	CHECK(judged(run, false) == REASON_NONE, "no third signal");
	run.state = STATE_RUNNING;
	run.options.kill_after = SECOND;
	CHECK(judged(run, false) == REASON_CANCELLED, "with a kill-after");
	run.target_exited = run.target_left = true;
	CHECK(judged(run, false) == REASON_TARGET_EXITED, "ended after it");
	run.state = STATE_LINGERING;
	run.options.kill_after = NEVER;
	CHECK(judged(run, false) == REASON_CANCELLED, "what that has left");
	run.cancels = 0;
	CHECK(judged(run, false) == REASON_SURVIVORS_LEFT, "by itself");
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
	check_verdicts();
	check_timeout_personality();
	return failures != 0;
}
