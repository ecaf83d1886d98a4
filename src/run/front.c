/* The front: the process that the caller sees. It forwards signals, and ends as
 * the supervisor says. */
#include "run/front.h"

#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "proc/helper.h"
#include "proc/pidfd.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "proc/signals.h"
#include "proc/wait.h"
#include "run/exec_failure.h"
#include "run/forward.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/statuspipe.h"
#include "run/target.h"

#define HELPERS_PATIENCE    200 /* milliseconds */
#define SUPERVISOR_PATIENCE (5 * SECOND)
#define TRACE_STOP          't' /* the state of a process: proc_pid_stat(5) */

/* Sends SIGNAL on to the supervisor, together with who sent it, or TERMINAL.
 * The supervisor is a child that is not reaped yet, so the PID is its own. */
static void
forward(const struct run *run, int signal, pid_t sender)
{
	const union sigval value = { .sival_int = sender };

	/* EAGAIN: RLIMIT_SIGPENDING is reached, which kill(2) ignores. */
	if (sigqueue(run->watchers.supervisor, signal, value) == -1)
		(void)kill(run->watchers.supervisor, signal);
}

/* Stops by SIGNAL, as the terminal or the target has done. Returns when this
 * process is continued. */
static void
stop(struct run *run, int signal)
{
	const bool is_of_terminal = signal_is_terminal_stop(signal);

	/* Before the shell writes: an editor leaves its screen, and does so by
	 * output. */
	output_drain(&run->output);
	tty_input_release(&run->output.tty_input);
	signal_stop_by(is_of_terminal ? signal : SIGTSTP);
	tty_input_take(&run->output.tty_input);
	/* The SIGCONT that ended the stop is pending, and will be forwarded.
	 * Where there is none, the kernel has ignored the stop, as it does in
	 * an orphaned process group: then the tree has to go on as well. But a
	 * SIGSTOP of the target is its sender's to undo. */
	if (is_of_terminal && !signal_is_pending(SIGCONT))
		forward(run, SIGCONT, run->watchers.front);
}

/* Whether INFO is the supervisor's order to stop: jobcontrol.c. */
static bool
is_order_to_stop(const struct run *run, const siginfo_t *info)
{
	return info->si_signo == SIGNAL_TO_STOP && info->si_code == SI_QUEUE &&
	       info->si_pid == run->watchers.supervisor;
}

/* Drops the orders to stop that came before a SIGCONT, as the kernel does with
 * its own stop signals: prepare_signal(). */
static void
drop_orders_to_stop(const struct run *run)
{
	siginfo_t info;

	while (signals_take(SIGNAL_TO_STOP, &info)) {
		if (!is_order_to_stop(run, &info))
			forward(run, SIGNAL_TO_STOP, info.si_pid);
	}
}

/* Whether the signal of INFO is from the terminal; or, as if it were, from a
 * wdrun in the same job that has made the terminal raw: tty_input.c. */
static bool
is_terminals(const siginfo_t *info)
{
	char name[sizeof(RELAY_NAME)];

	return signal_is_terminals(info->si_signo) &&
	       (info->si_code == SI_KERNEL ||
	        (procfs_read(info->si_pid, "comm", name, sizeof(name)) > 0 &&
	         strcmp(name, RELAY_NAME) == 0));
}

/* Forwards a signal to the supervisor, or does what the signal asks of the
 * front itself. */
static void
attend(struct run *run, const siginfo_t *info)
{
	const int signal = info->si_signo;

	/* While the job was stopped, SIGWINCH went to the shell. */
	if (signal == SIGWINCH || signal == SIGCONT)
		output_wake(&run->output);
	/* The front's own helpers signal its whole process group, after the
	 * command has got the signal: tty_input.c, relay.c. */
	if (helper_is(info->si_pid) || signal_is_ignored(signal) ||
	    signal_is_by_write(signal, info->si_pid))
		return;
	if (is_order_to_stop(run, info)) {
		stop(run, info->si_value.sival_int);
		return;
	}
	/* The supervisor asks for this: jobcontrol_continue_relays(). */
	if (signal == SIGCONT && info->si_code == SI_USER &&
	    info->si_pid == run->watchers.supervisor) {
		output_continue(&run->output);
		return;
	}
	if (signal == SIGCONT)
		drop_orders_to_stop(run);
	forward(run, signal, is_terminals(info) ? TERMINAL : info->si_pid);
}

static bool
supervisor_is_in_trace_stop(const struct run *run)
{
	struct procstat stat;

	return procstat_read(run->watchers.supervisor, &stat) == 0 &&
	       stat.state == TRACE_STOP;
}

/* Kills a supervisor that a debugger has stopped, of which ptrace(2) lets its
 * parent know nothing: no bound would hold, and no signal end the run.
 * strace(1) stops the supervisor too, but not for long. */
static void
end_stopped_supervisor(const struct run *run)
{
	if (!supervisor_is_in_trace_stop(run))
		return;
	duration_sleep(SECOND);
	if (!supervisor_is_in_trace_stop(run))
		return;
	if (!run->options.quiet)
		message("the supervisor (PID %d) is stopped by a debugger, "
		        "killing it",
		        run->watchers.supervisor);
	(void)kill(run->watchers.supervisor, SIGKILL);
}

/*
 * Attends to signals, until there may be a dead child. A failure (EINTR, at a
 * SIGCONT after a SIGSTOP; or a filter that forbids the call) may hide one, and
 * so may a SIGURG from elsewhere: the kernel keeps no second SIGURG beside it
 * when a helper dies. Where no signal comes for the time *PATIENCE, the
 * supervisor should have begun to end the run by then.
 */
static void
attend_until_child(struct run *run, int64_t *patience)
{
	siginfo_t info;
	int signal;

	do {
		signal = signals_wait(&info, *patience);
		if (signal == -1 && errno == EAGAIN) {
			*patience = NEVER;
			end_stopped_supervisor(run);
		} else if (signal == -1) {
			duration_sleep(MILLISECOND);
		} else if (signal != SIGCHLD &&
		           !helper_is_death(signal, info.si_code)) {
			attend(run, &info);
			if (signal_is_terminating(signal))
				*patience = SUPERVISOR_PATIENCE;
		}
	} while (signal != -1 && signal != SIGCHLD &&
	         signal != HELPER_EXIT_SIGNAL);
}

/* Whether the supervisor is dead, and if so, whether it WAS_KILLED. Continues a
 * supervisor that somebody has stopped. */
static bool
supervisor_is_dead(const struct run *run, bool *was_killed)
{
	siginfo_t info;
	pid_t child;

	*was_killed = true; /* also where nobody can know */

	while ((child = wait_peek(run->watchers.supervisor, WEXITED | WSTOPPED,
	                          &info)) == run->watchers.supervisor) {
		*was_killed = info.si_code != CLD_EXITED;
		if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
			return true;
		/* Plain kill(2): the supervisor forwards no such SIGCONT. */
		(void)kill(run->watchers.supervisor, SIGCONT);
	}
	/* A tracer may keep the death from waitid(2): ptrace(2). */
	return child == CHILD_NONE_LEFT ||
	       pid_is_dead(run->watchers.supervisor);
}

/*
 * Reaps the children besides the supervisor: helpers; orphans, as PID 1; the
 * caller's, after an exec without a fork. Returns whether the target is among
 * them, which means that the supervisor is dying. The target is not reaped: its
 * status is still wanted.
 */
static bool
target_is_ours(struct run *run, struct statuspipe *status)
{
	siginfo_t info;
	pid_t child;

	output_continue(&run->output);
	while ((child = wait_peek(ANY_CHILD, WEXITED | WNOWAIT | __WALL,
	                          &info)) > 0) {
		statuspipe_read(run->watchers.statuspipe[0], status);
		if (child == status->target)
			return true;
		if (child == run->watchers.supervisor)
			return false; /* its own SIGCHLD is still to come */
		proctree_reap_child(&run->tree, child);
		output_note_death(&run->output, child);
	}
	return false;
}

/* Makes the front the supervisor, as far as a front that kills needs to be. */
static void
prepare_to_take_over(struct run *run, const struct statuspipe *status)
{
	run->watchers.is_front = true;
	target_note(run, status->target);
	/* No PID: the target was never forked, or its PID never sent. */
	if (status->target == 0)
		target_note_exit(&run->target, NULL, false);
	run->tree.callers_session = getsid(0);
	/* Without a signalfd the timers alone wake this process. */
	run->watchers.signal_fd = signals_open();
	(void)close(run->watchers.lifeline[1]);
	run->watchers.lifeline[1] = -1;
}

/*
 * Waits until the helpers of a supervisor that was killed are dead, as they may
 * have files locked: PR_SET_PDEATHSIG has sent them SIGKILL, and with the last
 * of them the last write end of the status pipe is closed. A helper that hangs
 * in a file system is not waited for any longer.
 */
static void
await_helpers(const struct run *run)
{
	struct pollfd writers = { .fd = run->watchers.statuspipe[0] };

	(void)poll(&writers, 1, HELPERS_PATIENCE);
}

/* Lets go of all that the caller has open. */
static void
detach(struct run *run)
{
	struct watchers *const watchers = &run->watchers;
	int keep[] = {
		[OUTPUT_FDS + RESOURCE_FDS] = run->tty.fd,
		watchers->lifeline[1],
		watchers->statuspipe[0],
	};

	output_keep(&run->output, keep);
	resources_keep(run, &keep[OUTPUT_FDS]);
	/* What the front does can wait until the supervisor has forked the
	 * target. */
	(void)sched_yield();
	fds_release(watchers->null_fd, keep, sizeof(keep) / sizeof(keep[0]));
	watchers->null_fd = -1;
	watchers->lifeline[0] = -1;
	watchers->statuspipe[1] = -1;
	run->parent.fd = -1;
}

bool
front_watch(struct run *run, struct outcome *outcome)
{
	struct statuspipe status = { .target = 0 };
	int64_t patience =
	    duration_add(run->options.timeout, SUPERVISOR_PATIENCE);
	bool was_killed;

	detach(run);
	do
		attend_until_child(run, &patience);
	while (!supervisor_is_dead(run, &was_killed) &&
	       !target_is_ours(run, &status));

	statuspipe_read(run->watchers.statuspipe[0], &status);
	if (status.exec_errno != 0)
		exec_failure_tell(&run->options, &status);
	else
		run->usage = status.usage;
	run->stop = status.stop;
	*outcome = status.outcome;
	if (outcome->kind == OUTCOME_UNKNOWN) {
		prepare_to_take_over(run, &status);
		return false;
	}
	if (was_killed)
		await_helpers(run);
	return true;
}

_Noreturn void
front_end(struct outcome outcome)
{
	if (outcome.kind == OUTCOME_SIGNAL)
		signal_die_by(outcome.value);
	_exit(outcome.value);
}
