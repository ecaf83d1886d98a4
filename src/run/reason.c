/* The reasons for which a run changes its state, as a table. */
#include "run/reason.h"

#include "base/duration.h"
#include "base/text.h"
#include "proc/signals.h"
#include "run/run.h"

#define NOTHING STATUS_OF_TARGET, TELLING_NOTHING, NULL
#define LINE    STATUS_OF_TARGET, TELLING_LINE
#define TREE    STATUS_OF_TARGET, TELLING_TREE

static const struct reason_row table[REASON_COUNT] = {
	[REASON_NONE] = { STATE_RUNNING, NOTHING, "no reason" },

	/* The run goes on, or ends by itself. */
	[REASON_TARGET_EXITED] = { STATE_LINGERING, NOTHING,
	                           "the command exited, survivors are left" },
	[REASON_TREE_EMPTY] = { STATE_DONE, NOTHING, "no process is left" },
	[REASON_SURVIVORS_LEFT] = { STATE_DONE, NOTHING,
	                            "the command exited, survivors are let "
	                            "go" },

	/* The tree is stopped. */
	[REASON_TIMEOUT] = { STATE_STOPPING, STATUS_TIMED_OUT, TELLING_TREE,
	                     "timeout", "timeout" },
	[REASON_SILENCE] = { STATE_STOPPING, STATUS_TIMED_OUT, TELLING_TREE,
	                     "idle", "no output" },
	[REASON_UNTIL] = { STATE_STOPPING, 0, TELLING_TREE, "until",
	                   "the output is complete" },
	/* A sender of a cancel needs no message. */
	[REASON_CANCELLED] = { STATE_STOPPING, STATUS_OF_TARGET,
	                       TELLING_NOTHING, "cancelled", "cancelled" },
	[REASON_PARENT_LOST] = { STATE_STOPPING, TREE, "caller-died",
	                         "the caller is dead" },
	[REASON_SURVIVORS_IDLE] = { STATE_STOPPING, TREE, "survivors-idle",
	                            "the survivors are idle" },
	[REASON_SURVIVORS_BUSY] = { STATE_STOPPING, TREE, "survivors-busy",
	                            "the survivors ran out of time" },

	/* The tree is killed. */
	[REASON_GRACE_OVER] = { STATE_KILLING, TREE, "kill-after",
	                        "the grace period is over" },
	[REASON_THIRD_SIGNAL] = { STATE_KILLING, LINE, "cancelled",
	                          "third terminating signal" },
	[REASON_FRONT_LOST] = { STATE_KILLING, LINE, "front-killed",
	                        "the front was killed" },
	[REASON_SUPERVISOR_LOST] = { STATE_KILLING, LINE, "supervisor-killed",
	                             "the supervisor was killed" },

	/* SIGKILL has not ended all processes. */
	[REASON_LAST_BOUND] = { STATE_DONE, TREE, "last-bound",
	                        "what is left cannot be killed" },
};

const struct reason_row *
reason_row(enum reason why)
{
	return &table[why];
}

bool
reason_is_stop(enum reason why)
{
	return table[why].next == STATE_STOPPING ||
	       table[why].next == STATE_KILLING;
}

void
reason_add_cause(struct strbuf *line, const struct run *run, enum reason why)
{
	const struct options *const options = &run->options;
	char time[DURATION_TEXT_SIZE];
	char name[SIGNAL_NAME_SIZE];

	switch (why) {
	case REASON_TIMEOUT:
		strbuf_addf(line, "timed out after %s, ",
		            duration_format(options->timeout, time));
		return;
	case REASON_SILENCE:
		strbuf_addf(line, "no output for %s, ",
		            duration_format(options->idle_timeout, time));
		return;
	case REASON_UNTIL:
		strbuf_addf(line, "the text of --until was found, but the "
		                  "command did not exit, ");
		return;
	case REASON_PARENT_LOST:
		strbuf_addf(line, "the caller (PID %d) is dead, ",
		            run->parent.pid);
		return;
	case REASON_SURVIVORS_IDLE:
		strbuf_addf(line,
		            "the command has exited; no progress for %s, ",
		            duration_format(options->idle_after_exit, time));
		return;
	case REASON_SURVIVORS_BUSY:
		strbuf_addf(line, "the command exited %s ago, ",
		            duration_format(options->max_after_exit, time));
		return;
	case REASON_GRACE_OVER:
		strbuf_addf(line, "processes are still alive %s after %s, ",
		            duration_format(options->kill_after, time),
		            signal_name(run->stop == REASON_CANCELLED
		                            ? run->cancel.signal
		                            : options->signal,
		                        name));
		return;
	case REASON_THIRD_SIGNAL:
		strbuf_addf(line, "a third terminating signal came, ");
		return;
	case REASON_FRONT_LOST:
		strbuf_addf(line, "the front (PID %d) was killed, ",
		            run->watchers.front);
		return;
	case REASON_SUPERVISOR_LOST:
		strbuf_addf(line, "the supervisor (PID %d) was killed, ",
		            run->watchers.supervisor);
		return;
	case REASON_NONE:
	case REASON_TARGET_EXITED:
	case REASON_TREE_EMPTY:
	case REASON_SURVIVORS_LEFT:
	case REASON_CANCELLED:
	case REASON_LAST_BOUND:
	case REASON_COUNT:
		return;
	}
}
