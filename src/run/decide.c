/* The decisions: what a run does next, and with which status wdrun ends. */
#include <signal.h>
#include <stddef.h>

#include "run/run.h"

#define STATUS_OF_TARGET (-1)

#define IN(state)   (1U << (state))
#define ALIVE       (IN(STATE_RUNNING) | IN(STATE_LINGERING))
#define BEFORE_KILL (ALIVE | IN(STATE_STOPPING))

static const struct {
	unsigned states;    /* in which the clock counts */
	enum reason reason; /* for a change of state; NONE: only to wake up */
} clocks[CLOCK_COUNT] = {
	[CLOCK_READER] = { ALIVE, REASON_READER_LOST },
	/* In a stop, too: the command may ignore a cancel. */
	[CLOCK_TIMEOUT] = { BEFORE_KILL, REASON_TIMEOUT },
	[CLOCK_UNTIL] = { IN(STATE_RUNNING), REASON_UNTIL },
	[CLOCK_UNTIL_MAX] = { IN(STATE_RUNNING), REASON_UNTIL },
	[CLOCK_MAX_AFTER_EXIT] = { IN(STATE_LINGERING), REASON_SURVIVORS_BUSY },
	/* While RUNNING, first_due() makes it REASON_SILENCE. */
	[CLOCK_IDLE] = { ALIVE, REASON_SURVIVORS_IDLE },
	[CLOCK_KILL] = { IN(STATE_STOPPING), REASON_GRACE_OVER },
	[CLOCK_SAMPLE] = { ALIVE, REASON_NONE },
	[CLOCK_ORPHANS] = { IN(STATE_STOPPING), REASON_NONE },
	[CLOCK_HEARTBEAT] = { ALIVE, REASON_NONE },
	[CLOCK_NICE] = { ALIVE, REASON_NONE },
};

#define TIME(member) offsetof(struct options, member)

const struct reason_row reasons[] = {
	[REASON_NONE] = { .status = STATUS_OF_TARGET },

	/* The run goes on, or ends by itself. */
	[REASON_TARGET_EXITED] = { STATE_LINGERING, STATUS_OF_TARGET,
	                           .words =
	                               "the command exited, survivors are left" },
	[REASON_TREE_EMPTY] = { STATE_DONE, STATUS_OF_TARGET,
	                        .words = "no process is left to wait for" },

	/* The tree is stopped. */
	[REASON_TIMEOUT] = { STATE_STOPPING, STATUS_TIMED_OUT, TELL_TREE,
	                     "timeout", "timed out", " after ", TIME(timeout) },
	[REASON_SILENCE] = { STATE_STOPPING, STATUS_TIMED_OUT, TELL_TREE,
	                     "idle", "no output", " for ", TIME(idle_timeout) },
	[REASON_UNTIL] = { STATE_STOPPING, 0, TELL_TREE, "until",
	                   "the output is complete, but the command did not exit",
	                   " within ", TIME(until_grace) },
	[REASON_UNTIL_FAILURE] = { STATE_STOPPING, 1, TELL_TREE,
	                           "until-failure",
	                           "the output tells of a failure, but the "
	                           "command did not exit",
	                           " within ", TIME(until_grace) },
	[REASON_CANCELLED] = { STATE_STOPPING, STATUS_OF_TARGET, TELL_LINE,
	                       "cancelled", .words = "cancelled" },
	[REASON_PARENT_LOST] = { STATE_STOPPING, STATUS_OF_TARGET, TELL_TREE,
	                         "caller-died", .words = "the caller is dead" },
	[REASON_READER_LOST] = { STATE_STOPPING, STATUS_OF_TARGET, TELL_NOTHING,
	                         "reader-gone",
	                         .words = "nobody reads standard output" },
	[REASON_SURVIVORS_IDLE] = { STATE_STOPPING, STATUS_OF_TARGET, TELL_TREE,
	                            "survivors-idle",
	                            "the command has exited; no progress",
	                            " for ", TIME(idle_after_exit) },
	[REASON_SURVIVORS_BUSY] = { STATE_STOPPING, STATUS_OF_TARGET, TELL_TREE,
	                            "survivors-busy",
	                            "the command has exited; survivors are left",
	                            " after ", TIME(max_after_exit) },

	/* The tree is killed. Without a code: a stop before has given one. */
	[REASON_GRACE_OVER] = { STATE_KILLING, STATUS_OF_TARGET, TELL_NAMES,
	                        NULL, "processes are still alive",
	                        " after a grace of ", TIME(kill_after) },
	[REASON_THIRD_SIGNAL] = { STATE_KILLING, STATUS_OF_TARGET, TELL_NAMES,
	                          .words = "a third terminating signal came" },
	[REASON_FRONT_LOST] = { STATE_KILLING, STATUS_OF_TARGET, TELL_LINE,
	                        "front-killed",
	                        .words = "the front was killed" },
	[REASON_SUPERVISOR_LOST] = { STATE_KILLING, STATUS_OF_TARGET, TELL_LINE,
	                             "supervisor-killed",
	                             .words = "the supervisor was killed" },

	/* SIGKILL has not ended all processes. */
	[REASON_LAST_BOUND] = { STATE_DONE, STATUS_OF_TARGET, TELL_NAMES,
	                        .code = NULL },
};

bool
survivors_are_free(const struct run *run)
{
	return run->target->exited_by_itself &&
	       run->options->survivors == SURVIVORS_LEAVE;
}

bool
nobody_is_awaited(const struct run *run)
{
	return run->facts->tree_is_empty || survivors_are_free(run);
}

static bool
clock_runs(const struct supervisor *self, enum clock clock)
{
	return (clocks[clock].states & IN(self->state)) != 0 &&
	       self->paused_at == NEVER;
}

/* The reason of the first due clock. */
static enum reason
first_due(const struct supervisor *self, int64_t now)
{
	const struct run *const run = self->run;
	const struct output_facts *const output = &run->facts->output;
	const int64_t tenth = run->options->until_grace / UNTIL_GRACES;
	const int64_t silence = tenth < SECOND ? tenth : SECOND;
	/* The command's output has ended since the text of --until. Output that
	 * goes on may be of an agent that has only echoed its prompt. */
	const bool is_complete =
	    output->found != 0 &&
	    (!output->went_on || now - output->heard >= silence);
	enum reason why = REASON_NONE;

	for (enum clock i = 0; i < CLOCK_COUNT && why == REASON_NONE; i++) {
		if (clock_runs(self, i) && now >= self->due[i])
			why = clocks[i].reason;
	}
	if (why == REASON_SURVIVORS_IDLE && self->state == STATE_RUNNING)
		why = REASON_SILENCE;
	if (why == REASON_TIMEOUT && self->state == STATE_RUNNING &&
	    is_complete)
		why = REASON_UNTIL;
	if (why == REASON_UNTIL && (output->found & FOUND_FAILURE) != 0)
		why = REASON_UNTIL_FAILURE;
	return why;
}

/* The first that is true counts: what has happened, before what is due. */
enum reason
decide(const struct supervisor *self, int64_t now)
{
	const struct run *const run = self->run;

	if (self->state == STATE_DONE)
		return REASON_NONE;
	if (nobody_is_awaited(run)) /* perhaps since it died of the cancel */
		return self->state == STATE_RUNNING &&
		               self->cancel_signal != 0 &&
		               run->target->outcome.kind == OUTCOME_SIGNAL
		           ? REASON_CANCELLED
		           : REASON_TREE_EMPTY;
	if (self->state == STATE_KILLING) /* tree_kill() has done what it can */
		return REASON_LAST_BOUND;
	if (self->front_is_dead)
		return REASON_FRONT_LOST;
	if (self->state == STATE_STOPPING)
		return run->facts->cancels >= CANCELS_MAX
		           ? REASON_THIRD_SIGNAL
		           : first_due(self, now);
	/* Before the clocks: a command that exits in time is not late. */
	if (run->target->has_exited && self->state == STATE_RUNNING)
		return REASON_TARGET_EXITED;
	if (self->cancel_signal != 0)
		return REASON_CANCELLED;
	if (run->options->die_with_parent && run->parent_fd == -1)
		return REASON_PARENT_LOST;
	return first_due(self, now);
}

int64_t
next_due(const struct supervisor *self)
{
	int64_t next = NEVER;

	for (enum clock i = 0; i < CLOCK_COUNT; i++) {
		if (clock_runs(self, i) && self->due[i] < next)
			next = self->due[i];
	}
	return next;
}

void
clocks_resume(struct supervisor *self, int64_t now)
{
	const int64_t pause = now - self->paused_at;

	if (self->paused_at == NEVER)
		return;
	for (enum clock i = 0; i < CLOCK_COUNT; i++)
		self->due[i] = duration_add(self->due[i], pause);
	self->activity.last += pause;
	if (self->activity.since != 0)
		self->activity.since += pause;
	self->paused_at = NEVER;
}

void
clocks_bound_stop(struct supervisor *self, int64_t now)
{
	struct run *const run = self->run;
	int64_t *const kill_at = &self->due[CLOCK_KILL];
	const int64_t bound = duration_add(now, run->options->orphans_grace);

	if (*kill_at == NEVER)
		*kill_at = duration_add(now, run->options->kill_after);
	/* timeout(1) without -k waits for its command, but only for that. */
	if (run->target->has_exited && *kill_at > bound)
		*kill_at = bound;
}

int
outcome_status(const struct outcome *outcome)
{
	return outcome->kind == OUTCOME_SIGNAL
	           ? STATUS_SIGNAL_BASE + outcome->value
	           : outcome->value;
}

struct outcome
run_outcome(const struct run *run)
{
	const struct options *const options = run->options;
	struct outcome target = run->target->outcome;
	const int status = reasons[run->facts->reason].status;
	const bool by_sigkill =
	    target.kind == OUTCOME_SIGNAL && target.value == SIGKILL;
	const bool keeps_status =
	    options->preserve_status || (options->has_gnu_status && by_sigkill);

	/* The kernel hangs up the terminal of a killed supervisor before it
	 * sends PR_SET_PDEATHSIG (do_exit()): SIGHUP stands for SIGKILL. */
	if (run->has_taken_over && run->output.has_pty &&
	    !run->target->exited_by_itself && target.value == SIGHUP &&
	    target.kind == OUTCOME_SIGNAL)
		target.value = SIGKILL;
	/* A signal that timeout(1) has sent ends its command, not itself. */
	if (options->has_gnu_status && status == STATUS_TIMED_OUT &&
	    target.kind == OUTCOME_SIGNAL && !by_sigkill &&
	    !run->target->exited_by_itself)
		target =
		    (struct outcome){ OUTCOME_EXIT, outcome_status(&target) };
	if ((run->target->exited_by_itself || status == STATUS_OF_TARGET ||
	     (status == STATUS_TIMED_OUT && keeps_status)) &&
	    target.kind != OUTCOME_UNKNOWN)
		return target;
	return (struct outcome){
		OUTCOME_EXIT,
		status == STATUS_OF_TARGET ? STATUS_FAILED : status,
	};
}
