/* What wdrun says of a change of the run's state, and at its end. */
#include "run/tell.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "inspect/look.h"
#include "proc/cmdline.h"
#include "proc/signals.h"
#include "run/decide.h"
#include "run/reason.h"
#include "run/report.h"
#include "run/run.h"

/* timeout(1) never tells that its own process was killed, or that SIGKILL does
 * not end a process. */
static bool
is_in_words_of_timeout(const struct run *run, enum reason why)
{
	return run->options.is_timeout && why != REASON_FRONT_LOST &&
	       why != REASON_SUPERVISOR_LOST && why != REASON_LAST_BOUND;
}

/* --- the look ------------------------------------------------------------- */

bool
tell_has_look(const struct run *run, enum reason why)
{
	return reason_row(why)->telling == TELLING_TREE &&
	       !run->options.is_timeout &&
	       (!run->options.quiet || run->report != NULL);
}

/* Names the files that the command's output goes to, as the links of the
 * descriptors do. */
static void
name_outputs(struct look *look, const struct output_watch *watch)
{
	for (size_t i = 0; i < LOOK_OUTPUTS; i++) {
		const unsigned type = watch->files[i].type;

		look->outputs[i][0] = '\0';
		if (type != 0)
			(void)snprintf(look->outputs[i],
			               sizeof(look->outputs[i]),
			               S_ISCHR(type)    ? "/dev/pts/%llu"
			               : S_ISFIFO(type) ? "pipe:[%llu]"
			                                : "socket:[%llu]",
			               watch->files[i].inode);
	}
}

bool
tell_look(struct run *run, int64_t until)
{
	if (run->look != NULL)
		run->look->total = run->look->count = 0; /* an earlier one */
	tree_read(&run->tree, until - LOOK_BUDGET / 2);
	if (duration_now() >= until - LOOK_BUDGET / 2)
		return false;
	if (run->look == NULL) {
		void *const shared =
		    mmap(NULL, sizeof(*run->look), PROT_READ | PROT_WRITE,
		         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (shared == MAP_FAILED)
			return true; /* the message has no tree */
		run->look = shared;
	}
	name_outputs(run->look, &run->output_watch);
	run->look->tells_holders = run->target.exited_by_itself;
	look_take(run->look, &run->tree, until);
	if (run->report != NULL && run->report->look.count == 0)
		run->report->look = *run->look;
	return true;
}

/* --- the message ---------------------------------------------------------- */

void
tell_signal(const struct run *run, int signal)
{
	if (!run->options.verbose)
		return;

	char name[SIGNAL_NAME_SIZE];

	message("sending signal %s to%s command '%s'",
	        signal == 0 ? "0" : signal_name(signal, name) + strlen("SIG"),
	        run->target.has_exited ? " what is left of" : "",
	        run->options.command[0]);
}

void
tell_as_timeout(const struct run *run, enum reason why)
{
	if (!is_in_words_of_timeout(run, why))
		return;
	if (why == REASON_TIMEOUT)
		tell_signal(run, run->options.signal);
	else if (why == REASON_CANCELLED)
		tell_signal(run, run->cancel.signal);
	else if (why == REASON_GRACE_OVER)
		tell_signal(run, SIGKILL);
}

static void
add_count(struct strbuf *line, const struct run *run, enum reason why,
          size_t count)
{
	const struct tree *const tree = &run->tree;

	if (!tree_has_proc(tree))
		strbuf_addf(line,
		            "process group %d (without a usable /proc no "
		            "other process is reached)",
		            run->target.pid);
	else if (count == 0 && reason_row(why)->telling != TELLING_TREE)
		strbuf_addf(line, "its processes");
	/* After the target's exit, an empty list only means that what is left
	 * comes and goes too fast to be read. */
	else if (count == 0 && (tree->is_partial || run->target.has_exited))
		strbuf_addf(line, "an unknown number of processes");
	else
		strbuf_addf(line, "%s%zu %s",
		            tree->is_partial ? "at least " : "", count,
		            count == 1 ? "process" : "processes");
}

/* "timed out after 30m, stopping 2 processes with SIGTERM: …" */
static void
print(const struct run *run, enum reason why, size_t count)
{
	const enum state next = reason_row(why)->next;
	struct strbuf lines = { .grows = true };

	reason_add_cause(&lines, run, why);
	strbuf_addf(&lines, next == STATE_STOPPING  ? "stopping "
	                    : next == STATE_KILLING ? "killing "
	                                            : "could not kill ");
	add_count(&lines, run, why, count);
	if (next == STATE_STOPPING) {
		char name[SIGNAL_NAME_SIZE];

		strbuf_addf(&lines, " with %s",
		            signal_name(run->options.signal, name));
	}
	if (tell_has_look(run, why) && run->look != NULL)
		look_add_lines(&lines, run->look);
	strbuf_addf(&lines, "%c", '\0');
	message_lines(&lines);
	strbuf_free(&lines);
}

void
tell_change(struct run *run, enum state from, enum reason why, size_t count)
{
	static const char *const states[] = {
		[STATE_RUNNING] = "running",   [STATE_LINGERING] = "lingering",
		[STATE_STOPPING] = "stopping", [STATE_KILLING] = "killing",
		[STATE_DONE] = "done",
	};

	if (is_in_words_of_timeout(run, why))
		return;
	if (run->options.verbose && !run->options.is_timeout) {
		const bool by_signal = why == REASON_CANCELLED;
		char name[SIGNAL_NAME_SIZE];

		message("%s -> %s: %s%s%s", states[from], states[run->state],
		        reason_row(why)->words, by_signal ? " by " : "",
		        by_signal ? signal_name(run->cancel.signal, name) : "");
	}
	if (!run->options.quiet && reason_row(why)->telling != TELLING_NOTHING)
		print(run, why, count);
}

/* --- the end -------------------------------------------------------------- */

void
tell_end(const struct run *run, const struct usage *usage,
         struct outcome outcome)
{
	char elapsed[DURATION_TEXT_SIZE];
	char cpu[DURATION_TEXT_SIZE];
	char status[SIGNAL_NAME_SIZE];
	const bool by_signal = outcome.kind == OUTCOME_SIGNAL;

	if (!run->options.verbose || run->options.is_timeout ||
	    usage->elapsed == 0)
		return;
	if (by_signal)
		(void)signal_name(outcome.value, status);
	else
		(void)snprintf(status, sizeof(status), "%d", outcome.value);
	message("ended %s %s after %s; %s of CPU time, at most %lld KiB of "
	        "memory",
	        by_signal ? "by" : "with status", status,
	        duration_format(usage->elapsed, elapsed),
	        duration_format(usage->cpu, cpu),
	        (long long)usage->peak_memory);
}
