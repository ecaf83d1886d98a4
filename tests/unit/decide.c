/* A table of decisions: what a run does, in each state, for each fact. */
#include "run/run.h"

#include <signal.h>

#include "base/duration.h"
#include "check.h"

#define NOW   (10 * SECOND)
#define DUE   (NOW - SECOND)
#define CLOCK (1U << CLOCK_COUNT) /* the facts begin behind the clocks */

enum fact {
	NOTHING = 0,
	EXITED = CLOCK,
	BY_ITSELF = CLOCK << 1,
	EMPTY = CLOCK << 2,
	FRONT_LOST = CLOCK << 3,
	PARENT_LOST = CLOCK << 4,
	CANCELLED = CLOCK << 5,
	CANCELLED_TWICE = CLOCK << 6,
	KILLED = CLOCK << 7,
	COMPLETE = CLOCK << 8,
	PAUSED = CLOCK << 9,
	LEAVES = CLOCK << 10,
	WENT_ON = CLOCK << 11,
	ALL_DUE = CLOCK - 1,
};

#define AT(clock) (1U << CLOCK_##clock)

static const struct {
	enum state state;
	unsigned facts;
	enum reason why;
} rows[] = {
	{ STATE_RUNNING, NOTHING, REASON_NONE },
	{ STATE_RUNNING, AT(TIMEOUT), REASON_TIMEOUT },
	{ STATE_RUNNING, AT(READER), REASON_READER_LOST },
	{ STATE_RUNNING, AT(UNTIL), REASON_UNTIL },
	{ STATE_RUNNING, AT(UNTIL_MAX) | COMPLETE | WENT_ON, REASON_UNTIL },
	{ STATE_RUNNING, AT(TIMEOUT) | COMPLETE, REASON_UNTIL },
	{ STATE_RUNNING, AT(TIMEOUT) | COMPLETE | WENT_ON, REASON_TIMEOUT },
	{ STATE_RUNNING, AT(MAX_AFTER_EXIT), REASON_NONE },
	{ STATE_RUNNING, AT(ORPHANS) | AT(SAMPLE) | AT(HEARTBEAT),
	  REASON_NONE },
	{ STATE_RUNNING, AT(KILL) | AT(ORPHANS), REASON_NONE },
	{ STATE_RUNNING, AT(IDLE), REASON_SILENCE },
	/* A terminal has stopped it: no clock counts. */
	{ STATE_RUNNING, ALL_DUE | PAUSED, REASON_NONE },
	{ STATE_RUNNING, ALL_DUE | PAUSED | CANCELLED, REASON_CANCELLED },
	/* A command that exits in time is not late. */
	{ STATE_RUNNING, ALL_DUE | EXITED, REASON_TARGET_EXITED },
	{ STATE_RUNNING, ALL_DUE | EXITED | CANCELLED, REASON_TARGET_EXITED },
	{ STATE_RUNNING, ALL_DUE | CANCELLED, REASON_CANCELLED },
	{ STATE_RUNNING, ALL_DUE | PARENT_LOST, REASON_PARENT_LOST },
	{ STATE_RUNNING, ALL_DUE | EXITED | EMPTY, REASON_TREE_EMPTY },
	{ STATE_RUNNING, EXITED | EMPTY | CANCELLED, REASON_TREE_EMPTY },
	{ STATE_RUNNING, EXITED | EMPTY | CANCELLED | KILLED,
	  REASON_CANCELLED },
	{ STATE_RUNNING, ALL_DUE | FRONT_LOST | EMPTY, REASON_TREE_EMPTY },
	{ STATE_RUNNING, ALL_DUE | FRONT_LOST | CANCELLED, REASON_FRONT_LOST },
	{ STATE_RUNNING, LEAVES | EXITED | BY_ITSELF, REASON_TREE_EMPTY },
	{ STATE_RUNNING, LEAVES | EXITED, REASON_TARGET_EXITED },
	{ STATE_RUNNING, LEAVES, REASON_NONE },

	{ STATE_LINGERING, EXITED, REASON_NONE },
	{ STATE_LINGERING, EXITED | AT(UNTIL), REASON_NONE },
	{ STATE_LINGERING, EXITED | AT(IDLE), REASON_SURVIVORS_IDLE },
	{ STATE_LINGERING, EXITED | AT(MAX_AFTER_EXIT), REASON_SURVIVORS_BUSY },
	{ STATE_LINGERING, EXITED | ALL_DUE, REASON_READER_LOST },
	{ STATE_LINGERING, EXITED | (ALL_DUE & ~AT(READER)), REASON_TIMEOUT },
	{ STATE_LINGERING, EXITED | ALL_DUE | PAUSED, REASON_NONE },
	{ STATE_LINGERING, EXITED | CANCELLED, REASON_CANCELLED },
	{ STATE_LINGERING, EXITED | PARENT_LOST, REASON_PARENT_LOST },
	{ STATE_LINGERING, EXITED | FRONT_LOST, REASON_FRONT_LOST },

	{ STATE_STOPPING, CANCELLED | PARENT_LOST | AT(IDLE), REASON_NONE },
	{ STATE_STOPPING, AT(KILL), REASON_GRACE_OVER },
	{ STATE_STOPPING, AT(TIMEOUT), REASON_TIMEOUT },
	{ STATE_STOPPING, CANCELLED | CANCELLED_TWICE, REASON_THIRD_SIGNAL },
	{ STATE_STOPPING, FRONT_LOST, REASON_FRONT_LOST },
	{ STATE_STOPPING, EMPTY | FRONT_LOST, REASON_TREE_EMPTY },

	{ STATE_KILLING, EMPTY, REASON_TREE_EMPTY },
	{ STATE_KILLING, ALL_DUE | FRONT_LOST, REASON_LAST_BOUND },
	{ STATE_DONE, ALL_DUE | EMPTY | FRONT_LOST, REASON_NONE },
};

/* Of the run that is looked at. */
static struct facts shared;
static struct options options;
static struct run run = {
	.options = &options,
	.facts = &shared,
	.target = &shared.target,
};

static struct supervisor
supervisor_with(enum state state, unsigned facts)
{
	struct supervisor self = {
		.run = &run,
		.state = state,
		.paused_at = (facts & PAUSED) != 0 ? DUE : NEVER,
		.front_is_dead = (facts & FRONT_LOST) != 0,
		.cancel_signal = (facts & CANCELLED) != 0 ? SIGTERM : 0,
	};

	run.parent_fd = (facts & PARENT_LOST) != 0 ? -1 : 0;
	options = (struct options){
		.survivors =
		    (facts & LEAVES) != 0 ? SURVIVORS_LEAVE : SURVIVORS_KILL,
		.die_with_parent = true,
		.until_grace = 30 * SECOND,
	};
	shared = (struct facts){
		.target = { .outcome.kind = (facts & KILLED) != 0
		                                ? OUTCOME_SIGNAL
		                                : OUTCOME_EXIT,
		            .has_exited = (facts & EXITED) != 0,
		            .exited_by_itself = (facts & BY_ITSELF) != 0 },
		.tree_is_empty = (facts & EMPTY) != 0,
		.output = { .found = (facts & COMPLETE) != 0,
		            .went_on = (facts & WENT_ON) != 0,
		            .heard = NOW - SECOND / 2 },
		.cancels = ((facts & CANCELLED) != 0) +
		           2 * ((facts & CANCELLED_TWICE) != 0),
	};
	for (enum clock i = 0; i < CLOCK_COUNT; i++)
		self.due[i] = (facts & 1U << i) != 0 ? DUE : NEVER;
	return self;
}

static void
check_decisions(void)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct supervisor self =
		    supervisor_with(rows[i].state, rows[i].facts);
		const enum reason why = decide(&self, NOW);
		/* A run never asks to be woken in a state for nothing. */
		const int64_t next = next_due(&self);

		char name[100];

		(void)snprintf(name, sizeof(name), "row %zu: reason %d, not %d",
		               i, (int)why, (int)rows[i].why);
		CHECK(why == rows[i].why, name);
		CHECK(next == NEVER || why != REASON_NONE ||
		          (rows[i].facts & AT(SAMPLE)) != 0,
		      name);
	}
}

static void
check_clocks(void)
{
	struct supervisor self = supervisor_with(STATE_RUNNING, ALL_DUE);

	CHECK(next_due(&self) == DUE, "next");
	self.paused_at = DUE;
	self.activity.since = self.activity.last = DUE;
	clocks_resume(&self, NOW);
	CHECK(self.due[CLOCK_TIMEOUT] == NOW, "a bound is put off");
	CHECK(self.activity.since == NOW,
	      "a pause is no time without progress");
	CHECK(self.activity.last == NOW, "and no part of a sample");
	clocks_resume(&self, NOW + SECOND);
	CHECK(self.due[CLOCK_TIMEOUT] == NOW, "once");

	self = supervisor_with(STATE_LINGERING, ALL_DUE | PAUSED);
	CHECK(next_due(&self) == NEVER, "nothing ticks in a pause");

	self = supervisor_with(STATE_STOPPING, NOTHING);
	options.kill_after = NEVER;
	clocks_bound_stop(&self, NOW);
	CHECK(self.due[CLOCK_KILL] == NEVER, "-k never");
	options.orphans_grace = 5 * SECOND;
	shared.target.has_exited = true;
	clocks_bound_stop(&self, NOW);
	CHECK(self.due[CLOCK_KILL] == NOW + 5 * SECOND, "timeout(1)");
	self.due[CLOCK_KILL] = DUE;
	clocks_bound_stop(&self, NOW);
	CHECK(self.due[CLOCK_KILL] == DUE, "never later");
}

int
main(void)
{
	check_decisions();
	check_clocks();

	(void)supervisor_with(STATE_DONE, NOTHING);
	shared.reason = REASON_SUPERVISOR_LOST;
	shared.target.outcome.kind = OUTCOME_UNKNOWN;
	CHECK(run_outcome(&run).value == 125, "nobody knows the status");
	return failures != 0;
}
