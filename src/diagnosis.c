/* What is to be told: why a run is ended, and whom that hits. */
#include "diagnosis.h"

#include <sys/stat.h>

#include <string.h>

#include "descriptor.h"
#include "duration.h"
#include "judge.h"
#include "procfs.h"
#include "signals.h"
#include "text.h"
#include "timeout_personality.h"

#define NAMED_MAX     8  /* processes that a message names */
#define COMMAND_WIDTH 72 /* bytes of each one's command line */

static int
width_of(enum diagnosis depth)
{
	return depth == DIAGNOSIS_IN_FULL ? COMMAND_WIDTH : 0;
}

/* "; output held by 4711 node vite, fd 1,2": who of them keeps a reader of our
 * output waiting. */
static void
add_holders(struct line *line, const struct run *run, enum diagnosis depth)
{
	const struct process_list *const list = &run->tree.list;
	struct descriptor file = { .reads = false };
	int holders = 0;

	if (run->output_type == 0 || !run->target_left)
		return;
	(void)text_format(file.name, sizeof(file.name),
	                  S_ISCHR(run->output_type)    ? "/dev/pts/%llu"
	                  : S_ISFIFO(run->output_type) ? "pipe:[%llu]"
	                                               : "socket:[%llu]",
	                  run->output_inode);
	for (size_t i = 0; i < list->count && holders < NAMED_MAX; i++) {
		const pid_t pid = list->entries[i].pid;
		char text[64];
		struct line fds = { .text = text, .size = sizeof(text) };

		if (descriptor_add_holders(&fds, pid, &file) <= 0)
			continue;
		line_add(line,
		         holders++ == 0 ? "; output held by %d " : ", %d ",
		         pid);
		procfs_add_command(line, pid, width_of(depth));
		line_add(line, ", fd %s", text);
	}
}

static void
add_refusal(struct line *line, const struct process *process)
{
	if (process->refused != 0)
		line_add(line, " (%s)", strerror(process->refused));
	else if (process->state == 'D' && process->got_kill)
		line_add(line, " (uninterruptible)");
}

/* Whether there are processes, but none that could be listed. */
static bool
is_unlisted(const struct run *run)
{
	return run->tree.list.count == 0 && run->tree.is_partial;
}

static void
add_count(struct line *line, const struct run *run)
{
	const size_t count = run->tree.list.count;

	if (run->tree.way == PROCTREE_BLIND)
		line_add(line, "process group %d", run->target);
	else if (is_unlisted(run))
		line_add(line, "processes that could not be listed");
	else
		line_add(line, "%zu %s", count,
		         count == 1 ? "process" : "processes");
}

/* ": 4711 node vite, 4712 jq ." */
static void
add_names(struct line *line, const struct run *run, enum diagnosis depth)
{
	const struct process_list *const list = &run->tree.list;

	if (run->tree.way == PROCTREE_BLIND)
		line_add(line, " (no usable /proc: others are not named, and "
		               "killed without a signal before)");
	for (size_t i = 0; i < list->count && i < NAMED_MAX; i++) {
		const struct process *const process = &list->entries[i];

		line_add(line, "%s%d ", i == 0 ? ": " : ", ", process->pid);
		procfs_add_command(line, process->pid, width_of(depth));
		add_refusal(line, process);
	}
	if (list->count > NAMED_MAX)
		line_add(line, " and %zu more", list->count - NAMED_MAX);
}

bool
diagnosis_has_tree(const struct run *run, enum reason why)
{
	/* timeout(1) tells what it sends, and nothing else. */
	return !run->options.is_timeout &&
	       ((why == REASON_TIMEOUT || why == REASON_SILENCE) &&
	        run->tree.list.count > 0);
}

/* "stopping 2 processes with SIGTERM: …" */
static void
add_stop(struct line *line, const struct run *run, enum reason why,
         enum diagnosis depth)
{
	char name[SIGNAL_NAME_SIZE];

	line_add(line, "stopping ");
	add_count(line, run);
	line_add(line, " with %s", signal_name(run->options.signal, name));
	const bool has_names =
	    depth == DIAGNOSIS_IN_SHORT || !diagnosis_has_tree(run, why);

	if (has_names)
		add_names(line, run, depth);
	add_holders(line, run, depth);
	if (!has_names)
		line_add(line, ":");
}

/* "killing 2 processes: …" */
static void
add_kill(struct line *line, const struct run *run, enum diagnosis depth)
{
	if (run->tree.list.count == 0 && !is_unlisted(run)) {
		line_add(line, "and with it all that was left");
		return;
	}
	line_add(line, "killing ");
	add_count(line, run);
	add_names(line, run, depth);
	add_holders(line, run, depth);
}

/* How much of --until-grace it has had; not all, where a timeout came first. */
static int64_t
time_since_found(const struct run *run)
{
	const int64_t since = duration_now() - output_found_at(&run->output);

	return since < run->options.until_grace ? since
	                                        : run->options.until_grace;
}

/* "timed out after 30m, " */
static void
add_cause(struct line *line, const struct run *run, enum reason why)
{
	const struct options *const options = &run->options;
	char time[DURATION_TEXT_SIZE];
	char name[SIGNAL_NAME_SIZE];

	switch (why) {
	case REASON_NONE:
	case REASON_TARGET_EXITED:
	case REASON_TREE_EMPTY:
	case REASON_SURVIVORS_LEFT:
	case REASON_OUTPUT_STUCK: /* what is lost is told when it is known */
	case REASON_CANCELLED:    /* who cancels knows it */
	case REASON_LAST_BOUND:
		return;
	case REASON_TIMEOUT:
		line_add(line, "timed out after %s, ",
		         duration_format(options->timeout, time));
		return;
	case REASON_SILENCE:
		line_add(line, "no output for %s, ",
		         duration_format(options->idle_timeout, time));
		return;
	case REASON_UNTIL:
		line_add(line,
		         "the output says that it is complete, but the command "
		         "did not exit in %s, ",
		         duration_format(time_since_found(run), time));
		return;
	case REASON_CALLER_LOST:
		line_add(line, "the caller (PID %d) is dead, ", run->caller);
		return;
	case REASON_SURVIVORS_IDLE:
		line_add(line, "the command has exited; no progress for %s, ",
		         duration_format(options->idle_after_exit, time));
		return;
	case REASON_SURVIVORS_BUSY:
		line_add(line, "the command exited %s ago, ",
		         duration_format(options->max_after_exit, time));
		return;
	case REASON_GRACE_OVER:
		line_add(line, "still there %s after %s, ",
		         duration_format(options->kill_after, time),
		         signal_name(run->cancels > 0 ? run->cancel_signal
		                                      : options->signal,
		                     name));
		return;
	case REASON_THIRD_SIGNAL:
		line_add(line, "third signal to end, ");
		return;
	case REASON_FRONT_LOST:
		line_add(line, "the front (PID %d) was killed, ", run->front);
		return;
	case REASON_SUPERVISOR_LOST:
		line_add(line, "the supervisor (PID %d) was killed, ",
		         run->supervisor);
		return;
	}
}

bool
diagnosis_is_due(enum reason why)
{
	return why == REASON_LAST_BOUND ||
	       (judge_is_stop(why) && why != REASON_CANCELLED);
}

void
diagnosis_add(struct line *line, const struct run *run, enum reason why,
              enum diagnosis depth)
{
	if (timeout_personality_add(line, run, why) || !diagnosis_is_due(why))
		return;
	add_cause(line, run, why);
	if (why == REASON_LAST_BOUND) {
		line_add(line, "could not kill ");
		add_count(line, run);
		add_names(line, run, depth);
		add_holders(line, run, depth);
	} else if (judge_next_state(STATE_RUNNING, why) == STATE_STOPPING) {
		add_stop(line, run, why, depth);
	} else {
		add_kill(line, run, depth);
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

const char *
diagnosis_reason(enum reason why)
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
	case REASON_SILENCE:
		return "no output";
	case REASON_UNTIL:
		return "the output is complete";
	case REASON_OUTPUT_STUCK:
		return "nobody reads the rest of the output";
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
	char text[64];
	struct line line = { .text = text, .size = sizeof(text) };

	line_add(&line, "%s", diagnosis_reason(why));
	if (why == REASON_CANCELLED) {
		char name[SIGNAL_NAME_SIZE];

		line_add(&line, " by %s",
		         signal_name(run->cancel_signal, name));
	}
	message("%s -> %s: %s", name_of_state(run->state), name_of_state(next),
	        text);
}
