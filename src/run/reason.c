/* The reasons for which a run changes its state, as a table. */
#include "run/reason.h"

#include <stddef.h>

#include "base/duration.h"
#include "base/status.h"
#include "proc/signals.h"
#include "run/run.h"

#define QUIET false, false
#define TOLD  true, false
#define SHOWN true, true /* told, with the tree */

#define NO_CAUSE    NULL, NO_FIELD, NULL
#define NO_FIELD    REASON_WITHOUT_FIELD, 0
#define PID(member) REASON_WITH_PID, offsetof(struct run, member)
#define DURATION(member)                                                       \
	REASON_WITH_DURATION, offsetof(struct run, options.member)

static const struct reason_row table[] = {
	[REASON_NONE] = { STATE_RUNNING, STATUS_OF_TARGET, QUIET, NULL,
	                  "no reason", NO_CAUSE },

	/* The run goes on, or ends by itself. */
	[REASON_TARGET_EXITED] = { STATE_LINGERING, STATUS_OF_TARGET, QUIET,
	                           NULL,
	                           "the command exited, survivors are left",
	                           NO_CAUSE },
	[REASON_TREE_EMPTY] = { STATE_DONE, STATUS_OF_TARGET, QUIET, NULL,
	                        "no process is left", NO_CAUSE },
	[REASON_SURVIVORS_LEFT] = { STATE_DONE, STATUS_OF_TARGET, QUIET, NULL,
	                            "the command exited, survivors are let go",
	                            NO_CAUSE },
	/* io/output.c prints how much output is lost. */
	[REASON_OUTPUT_STUCK] = { STATE_DONE, STATUS_OF_TARGET, QUIET, NULL,
	                          "nobody reads the rest of the output",
	                          NO_CAUSE },

	/* The tree is stopped. */
	[REASON_TIMEOUT] = { STATE_STOPPING, STATUS_TIMED_OUT, SHOWN, "timeout",
	                     "timeout", "timed out after ", DURATION(timeout),
	                     "" },
	[REASON_SILENCE] = { STATE_STOPPING, STATUS_TIMED_OUT, SHOWN, "idle",
	                     "no output", "no output for ",
	                     DURATION(idle_timeout), "" },
	[REASON_UNTIL] = { STATE_STOPPING, 0, TOLD, "until",
	                   "the output is complete",
	                   "the text of --until was found, but the "
	                   "command did not exit in ",
	                   DURATION(until_grace), "" },
	/* A sender of a cancel needs no message. */
	[REASON_CANCELLED] = { STATE_STOPPING, STATUS_OF_TARGET, QUIET,
	                       "cancelled", "cancelled", NO_CAUSE },
	[REASON_PARENT_LOST] = { STATE_STOPPING, STATUS_OF_TARGET, TOLD,
	                         "caller-died", "the caller is dead",
	                         "the caller (PID ", PID(parent.pid),
	                         ") is dead" },
	[REASON_SURVIVORS_IDLE] = { STATE_STOPPING, STATUS_OF_TARGET, TOLD,
	                            "survivors-idle", "the survivors are idle",
	                            "the command has exited; no progress for ",
	                            DURATION(idle_after_exit), "" },
	[REASON_SURVIVORS_BUSY] = { STATE_STOPPING, STATUS_OF_TARGET, TOLD,
	                            "survivors-busy",
	                            "the survivors ran out of time",
	                            "the command exited ",
	                            DURATION(max_after_exit), " ago" },

	/* The tree is killed. */
	[REASON_GRACE_OVER] = { STATE_KILLING, STATUS_OF_TARGET, TOLD,
	                        "kill-after", "the grace period is over",
	                        "processes are still alive ",
	                        DURATION(kill_after), " after " },
	[REASON_THIRD_SIGNAL] = { STATE_KILLING, STATUS_OF_TARGET, TOLD,
	                          "cancelled", "third terminating signal",
	                          "a third terminating signal came", NO_FIELD,
	                          "" },
	[REASON_FRONT_LOST] = { STATE_KILLING, STATUS_OF_TARGET, TOLD,
	                        "front-killed", "the front was killed",
	                        "the front (PID ", PID(watchers.front),
	                        ") was killed" },
	[REASON_SUPERVISOR_LOST] = { STATE_KILLING, STATUS_OF_TARGET, TOLD,
	                             "supervisor-killed",
	                             "the supervisor was killed",
	                             "the supervisor (PID ",
	                             PID(watchers.supervisor), ") was killed" },

	/* SIGKILL has not ended all processes. */
	[REASON_LAST_BOUND] = { STATE_DONE, STATUS_OF_TARGET, TOLD,
	                        "last-bound", "what is left cannot be killed",
	                        NO_CAUSE },
};

_Static_assert(sizeof(table) / sizeof(table[0]) == REASON_COUNT,
               "each reason has its row");

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

/* How long ago the text of --until was found, at most --until-grace: a
 * --timeout may have come before the end of the grace. */
static int64_t
time_since_until(const struct run *run)
{
	const int64_t now = duration_now();
	const int64_t since =
	    now - output_read_progress(&run->output, now).found_at;
	const int64_t grace = run->options.until_grace;

	return since < grace ? since : grace;
}

void
reason_add_cause(struct strbuf *line, const struct run *run, enum reason why)
{
	const struct reason_row *const row = &table[why];
	const void *const field = (const char *)run + row->field;
	char name[SIGNAL_NAME_SIZE] = "";

	if (row->cause == NULL)
		return;
	strbuf_addf(line, "%s", row->cause);
	if (row->type == REASON_WITH_PID)
		strbuf_addf(line, "%d", *(const pid_t *)field);
	if (row->type == REASON_WITH_DURATION) {
		char duration[DURATION_TEXT_SIZE];

		strbuf_addf(line, "%s",
		            duration_format(why == REASON_UNTIL
		                                ? time_since_until(run)
		                                : *(const int64_t *)field,
		                            duration));
	}
	if (why == REASON_GRACE_OVER)
		(void)signal_name(run->stop == REASON_CANCELLED
		                      ? run->cancel.signal
		                      : run->options.signal,
		                  name);
	strbuf_addf(line, "%s%s, ", row->after, name);
}
