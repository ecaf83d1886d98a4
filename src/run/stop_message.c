/* The message of a stop: why the run ends, and which processes. */
#include "run/stop_message.h"

#include <sys/stat.h>

#include <signal.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/strbuf.h"
#include "inspect/fdinfo.h"
#include "proc/cmdline.h"
#include "proc/procfs.h"
#include "proc/signals.h"
#include "run/reason.h"
#include "run/run.h"

#define NAMED_MAX     8  /* processes that a message names */
#define COMMAND_WIDTH 72 /* bytes of a process's command line */

/* "; output held open by 4711 node vite, fd 1,2": the survivors that keep a
 * reader of the command's output waiting. */
static void
add_holders(struct strbuf *line, const struct run *run, enum detail detail)
{
	struct fdtable table = { .list = &run->tree.list };
	struct fdinfo file = { .reads = false };
	const struct fdtable_entry *entry;
	pid_t last = 0;
	int holders = 0;

	if (run->output_watch.type == 0 || !run->target.exited_by_itself)
		return;
	(void)strbuf_format(file.name, sizeof(file.name),
	                    S_ISCHR(run->output_watch.type) ? "/dev/pts/%llu"
	                    : S_ISFIFO(run->output_watch.type)
	                        ? "pipe:[%llu]"
	                        : "socket:[%llu]",
	                    run->output_watch.inode);
	for (size_t at = 0; (entry = fdtable_next(&table, &file, &at)) != NULL;
	     last = entry->pid) {
		if (entry->pid == last) {
			strbuf_addf(line, ",%d", entry->fd);
			continue;
		}
		if (holders++ == NAMED_MAX)
			break;
		strbuf_addf(
		    line, holders == 1 ? "; output held open by %d " : ", %d ",
		    entry->pid);
		cmdline_add(line, entry->pid,
		            detail != DETAIL_FULL ? 0 : COMMAND_WIDTH);
		strbuf_addf(line, ", fd %d", entry->fd);
	}
}

static void
add_refusal(struct strbuf *line, const struct run *run,
            const struct process *process)
{
	struct procfs_status status;

	if (process->refused != 0)
		strbuf_addf(line, " (%s)", strerror(process->refused));
	else if (run->state == STATE_KILLING &&
	         procfs_read_status(process->pid, &status) == 0 &&
	         status.state == 'D')
		strbuf_addf(line, " (uninterruptible)");
}

static void
add_count(struct strbuf *line, const struct run *run, enum reason why)
{
	const size_t count = run->tree.list.count;
	/* After the target's exit, an empty list only means that what is left
	 * comes and goes too fast to be read. */
	const bool is_missed =
	    why == REASON_LAST_BOUND && run->target.has_exited;

	if (run->tree.way == PROCTREE_BLIND)
		strbuf_addf(line, "process group %d", run->target.pid);
	else if (count == 0 && (run->tree.is_partial || is_missed))
		strbuf_addf(line, "an unknown number of processes");
	else
		strbuf_addf(line, "%s%zu %s",
		            run->tree.is_partial ? "at least " : "", count,
		            count == 1 ? "process" : "processes");
}

/* ": 4711 node vite, 4712 jq ." */
static void
add_names(struct strbuf *line, const struct run *run, enum detail detail)
{
	const struct process_list *const list = &run->tree.list;

	if (run->tree.way == PROCTREE_BLIND)
		strbuf_addf(line,
		            " (no usable /proc: other processes are not named, "
		            "and get only SIGKILL)");
	for (size_t i = 0; i < list->count && i < NAMED_MAX; i++) {
		const struct process *const process = &list->entries[i];

		strbuf_addf(line, "%s%d ", i == 0 ? ": " : ", ", process->pid);
		cmdline_add(line, process->pid,
		            detail != DETAIL_FULL ? 0 : COMMAND_WIDTH);
		add_refusal(line, run, process);
	}
	if (list->count > NAMED_MAX)
		strbuf_addf(line, " and %zu more", list->count - NAMED_MAX);
}

bool
stop_message_has_tree(const struct run *run, enum reason why)
{
	return !run->options.is_timeout && reason_row(why)->shows_tree &&
	       run->tree.list.count > 0;
}

/* Whether the message is that of timeout(1), GNU coreutils 9: none, or with
 * --verbose each signal sent. timeout(1) never reports that its own process was
 * killed, or that SIGKILL does not end a process. */
static bool
is_in_words_of_timeout(const struct run *run, enum reason why)
{
	return run->options.is_timeout && why != REASON_FRONT_LOST &&
	       why != REASON_SUPERVISOR_LOST && why != REASON_LAST_BOUND;
}

bool
stop_message_is_none(const struct run *run, enum reason why)
{
	return is_in_words_of_timeout(run, why) && !run->options.verbose;
}

static void
add_words_of_timeout(struct strbuf *line, const struct run *run,
                     enum reason why)
{
	char name[SIGNAL_NAME_SIZE];
	int signal = SIGKILL;

	if (why == REASON_TIMEOUT)
		signal = run->options.signal;
	else if (why == REASON_CANCELLED)
		signal = run->cancel.signal;
	else if (why != REASON_GRACE_OVER)
		return;
	strbuf_addf(line, "sending signal %s to%s command '%s'",
	            signal == 0 ? "0"
	                        : signal_name(signal, name) + strlen("SIG"),
	            run->target.has_exited ? " what is left of" : "",
	            run->options.command[0]);
}

/* "timed out after 30m, stopping 2 processes with SIGTERM: …" */
void
stop_message_add(struct strbuf *line, const struct run *run, enum reason why,
                 enum detail detail)
{
	const struct process_list *const list = &run->tree.list;
	const bool is_stop = reason_row(why)->next == STATE_STOPPING;
	const bool has_tree =
	    detail != DETAIL_BARE && stop_message_has_tree(run, why);

	if (is_in_words_of_timeout(run, why)) {
		add_words_of_timeout(line, run, why);
		return;
	}
	if (!reason_row(why)->is_told)
		return;
	reason_add_cause(line, run, why);
	if (run->sweep.tracer != 0) {
		strbuf_addf(line, "all processes are dead, but zombie %d ",
		            run->sweep.traced);
		cmdline_add(line, run->sweep.traced, 0);
		strbuf_addf(line, " is held by its tracer %d ",
		            run->sweep.tracer);
		cmdline_add(line, run->sweep.tracer, 0);
		return;
	}
	if (why == REASON_LAST_BOUND) {
		strbuf_addf(line, "could not kill ");
	} else if (is_stop) {
		strbuf_addf(line, "stopping ");
	} else if (list->count > 0 || run->tree.is_partial) {
		strbuf_addf(line, "killing ");
	} else {
		strbuf_addf(line, "and no other process is left");
		return;
	}
	add_count(line, run, why);
	if (is_stop) {
		char name[SIGNAL_NAME_SIZE];

		strbuf_addf(line, " with %s",
		            signal_name(run->options.signal, name));
	}
	if (!has_tree)
		add_names(line, run, detail);
	/* The lines of the tree have the command lines already. */
	if (detail != DETAIL_BARE)
		add_holders(line, run, has_tree ? DETAIL_SHORT : detail);
}

void
stop_message_print_change(const struct run *run, enum state from,
                          enum state next, enum reason why)
{
	static const char *const states[] = {
		[STATE_RUNNING] = "running",   [STATE_LINGERING] = "lingering",
		[STATE_STOPPING] = "stopping", [STATE_KILLING] = "killing",
		[STATE_DONE] = "done",
	};
	char name[SIGNAL_NAME_SIZE] = "";

	if (why == REASON_CANCELLED)
		(void)signal_name(run->cancel.signal, name);
	message("%s -> %s: %s%s%s", states[from], states[next],
	        reason_row(why)->words, name[0] == '\0' ? "" : " by ", name);
}
