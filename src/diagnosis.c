/* What is to be told: why a run is ended, and whom that hits. */
#include "diagnosis.h"

#include <string.h>

#include "duration.h"
#include "procfs.h"
#include "signals.h"

#define NAMED_MAX     8	 /* processes that a message names */
#define COMMAND_WIDTH 72 /* bytes of each one's command line */

static const char *
plural(size_t count)
{
	return count == 1 ? "process" : "processes";
}

/* Which descriptors of PROCESS keep a reader of our output waiting. */
static void
add_holding(struct line *line, const struct run *run,
	    const struct process *process)
{
	char fds[64];
	struct line list = { .text = fds, .size = sizeof(fds) };

	if (run->watches_output && run->target_left &&
	    procfs_add_holders(&list, process->pid, run->output_device,
			       run->output_inode) > 0)
		line_add(line, " (holds the output, fd %s)", fds);
}

static void
add_refusal(struct line *line, const struct process *process)
{
	if (process->refused != 0)
		line_add(line, " (%s)", strerror(process->refused));
	else if (process->state == 'D')
		line_add(line, " (uninterruptible)");
}

/* "2 processes: 4711 node vite, 4712 jq ." */
static void
add_processes(struct line *line, const struct run *run)
{
	const struct process_list *const list = &run->tree.list;

	if (run->tree.way == PROCTREE_BLIND) {
		line_add(line,
			 "process group %d (no usable /proc: what left that "
			 "group cannot be seen)",
			 run->target);
		return;
	}
	line_add(line, "%zu %s", list->count, plural(list->count));
	for (size_t i = 0; i < list->count && i < NAMED_MAX; i++) {
		const struct process *const process = &list->entries[i];

		line_add(line, "%s%d ", i == 0 ? ": " : ", ", process->pid);
		procfs_add_command(line, process->pid, COMMAND_WIDTH);
		add_holding(line, run, process);
		add_refusal(line, process);
	}
	if (list->count > NAMED_MAX)
		line_add(line, " and %zu more", list->count - NAMED_MAX);
}

static void
add_with_signal(struct line *line, const struct run *run)
{
	char name[SIGNAL_NAME_SIZE];

	line_add(line, "stopping with %s ",
		 signal_name(run->options.signal, name));
	add_processes(line, run);
}

void
diagnosis_add(struct line *line, const struct run *run, enum reason why)
{
	char time[DURATION_TEXT_SIZE];
	char name[SIGNAL_NAME_SIZE];

	switch (why) {
	case REASON_NONE:
	case REASON_TARGET_EXITED:
	case REASON_TREE_EMPTY:
	case REASON_SURVIVORS_LEFT:
	case REASON_CANCELLED: /* who cancels knows it */
		return;
	case REASON_TIMEOUT:
		line_add(line, "timed out after %s, ",
			 duration_format(run->options.timeout, time));
		add_with_signal(line, run);
		return;
	case REASON_CALLER_LOST:
		line_add(line, "the caller (PID %d) is dead, ", run->caller);
		add_with_signal(line, run);
		return;
	case REASON_SURVIVORS_IDLE:
		line_add(line, "the command has exited; no progress for %s, ",
			 duration_format(run->options.idle_after_exit, time));
		add_with_signal(line, run);
		return;
	case REASON_SURVIVORS_BUSY:
		line_add(line, "the command exited %s ago, ",
			 duration_format(run->options.max_after_exit, time));
		add_with_signal(line, run);
		return;
	case REASON_GRACE_OVER:
		signal_name(run->cancels > 0 ? run->cancel_signal
					     : run->options.signal,
			    name);
		line_add(line, "%s did not do within %s, killing ", name,
			 duration_format(run->options.kill_after, time));
		add_processes(line, run);
		return;
	case REASON_THIRD_SIGNAL:
		line_add(line, "third signal to end, killing ");
		add_processes(line, run);
		return;
	case REASON_FRONT_LOST:
		line_add(line, "the front (PID %d) was killed, killing ",
			 run->front);
		add_processes(line, run);
		return;
	case REASON_SUPERVISOR_LOST:
		line_add(line, "the supervisor (PID %d) was killed, killing ",
			 run->supervisor);
		add_processes(line, run);
		return;
	case REASON_LAST_BOUND:
		line_add(line, "could not kill ");
		add_processes(line, run);
		return;
	}
}

static const char *
name_of_state(enum state state)
{
	switch (state) {
	case STATE_RUNNING:
		return "running";
	case STATE_LINGERING:
		return "lingering";
	case STATE_STOPPING:
		return "stopping";
	case STATE_KILLING:
		return "killing";
	case STATE_DONE:
		return "done";
	}
	return "?";
}

static const char *
name_of_reason(enum reason why)
{
	switch (why) {
	case REASON_NONE:
		return "no reason";
	case REASON_TARGET_EXITED:
		return "the command exited, survivors are left";
	case REASON_TREE_EMPTY:
		return "no process is left";
	case REASON_TIMEOUT:
		return "timeout";
	case REASON_CANCELLED:
		return "cancelled";
	case REASON_CALLER_LOST:
		return "the caller is dead";
	case REASON_SURVIVORS_LEFT:
		return "the command exited, survivors are let go";
	case REASON_SURVIVORS_IDLE:
		return "the survivors are idle";
	case REASON_SURVIVORS_BUSY:
		return "the survivors had their time";
	case REASON_GRACE_OVER:
		return "the grace period is over";
	case REASON_THIRD_SIGNAL:
		return "third signal to end";
	case REASON_FRONT_LOST:
		return "the front was killed";
	case REASON_SUPERVISOR_LOST:
		return "the supervisor was killed";
	case REASON_LAST_BOUND:
		return "what is left cannot be killed";
	}
	return "?";
}

void
diagnosis_narrate(const struct run *run, enum state next, enum reason why)
{
	char name[SIGNAL_NAME_SIZE];

	if (why == REASON_CANCELLED)
		message("%s -> %s: cancelled by %s", name_of_state(run->state),
			name_of_state(next),
			signal_name(run->cancel_signal, name));
	else
		message("%s -> %s: %s", name_of_state(run->state),
			name_of_state(next), name_of_reason(why));
}
