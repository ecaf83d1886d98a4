/* The front: the process that the caller sees. It forwards signals to the
 * supervisor, and ends with the outcome that the supervisor sends. */
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

/* Forwards SIGNAL to the supervisor, with the PID of its SENDER, or TERMINAL.
 * The supervisor is a child not yet reaped, so the PID is its own. */
static void
forward(const struct run *run, int signal, pid_t sender)
{
	const union sigval value = { .sival_int = sender };

	/* EAGAIN: RLIMIT_SIGPENDING is reached, which kill(2) ignores. */
	if (sigqueue(run->watchers.supervisor, signal, value) == -1)
		(void)kill(run->watchers.supervisor, signal);
}

/* Stops this process by SIGNAL, as the terminal or the target has stopped the
 * command. Returns when this process is continued. */
static void
stop(struct run *run, int signal)
{
	const bool is_of_terminal = signal_is_terminal_stop(signal);

	/* Before the shell writes: an editor restores the screen, by output. */
	output_drain(&run->output);
	tty_input_release(&run->output.tty_input);
	signal_stop_by(is_of_terminal ? signal : SIGTSTP);
	tty_input_take(&run->output.tty_input);
	/* The SIGCONT that ended the stop is pending, and will be forwarded. If
	 * there is none, the kernel has ignored the stop, as it does in an
	 * orphaned process group: then the tree has to be continued as well. A
	 * SIGSTOP of the target, though, is for its sender to undo. */
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

/* Drops the orders to stop that came before a SIGCONT, as the kernel drops
 * pending stop signals: prepare_signal(). */
static void
drop_orders_to_stop(const struct run *run)
{
	siginfo_t info;

	while (signals_take(SIGNAL_TO_STOP, &info)) {
		if (!is_order_to_stop(run, &info))
			forward(run, SIGNAL_TO_STOP, info.si_pid);
	}
}

/* Whether the signal of INFO is from the terminal; or from the tty_input helper
 * of a wdrun in the same job, which has made the terminal raw and so signals in
 * the terminal's place: tty_input.c. */
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

	/* While the job was stopped, SIGWINCH went to the shell only. */
	if (signal == SIGWINCH || signal == SIGCONT)
		output_wake(&run->output);
	/* The front's own helpers signal its process group, the front included,
	 * when the command has got the signal: tty_input.c, relay.c. */
	if (helper_is(info->si_pid) || signal_is_ignored(signal) ||
	    signal_is_by_write(signal, info->si_pid))
		return;
	if (is_order_to_stop(run, info)) {
		stop(run, info->si_value.sival_int);
		return;
	}
	/* Sent by jobcontrol_continue_relays(). */
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

/* Kills a supervisor that stays in a ptrace stop, of which the kernel tells its
 * tracer, and not its parent (ptrace(2)): neither a bound nor a signal would
 * end the run. strace(1) stops the supervisor too, but not for a second. */
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

/* Attends to signals until a child may be dead. Returns also after a failure
 * (EINTR, at a SIGCONT after a SIGSTOP; or a filter that forbids the call), and
 * after a SIGURG from another process: the kernel keeps no second SIGURG, for a
 * helper's death, while one is pending. If no signal comes for *PATIENCE, the
 * supervisor should have begun to end the run, and may be stopped. */
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

/* Whether the supervisor is dead, and if so, whether a signal killed it.
 * Continues a supervisor that is stopped. */
static bool
supervisor_is_dead(const struct run *run, bool *was_killed)
{
	siginfo_t info;
	pid_t child;

	*was_killed = true; /* also where its status is lost */

	while ((child = wait_peek(run->watchers.supervisor, WEXITED | WSTOPPED,
	                          &info)) == run->watchers.supervisor) {
		*was_killed = info.si_code != CLD_EXITED;
		if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
			return true;
		/* By kill(2): such a SIGCONT is not forwarded to the tree. */
		(void)kill(run->watchers.supervisor, SIGCONT);
	}
	/* A tracer may keep the death from this parent: ptrace(2). */
	return child == CHILD_NONE_LEFT ||
	       pid_is_dead(run->watchers.supervisor);
}

/* Reaps the children other than the supervisor: helpers; orphans, if this is
 * PID 1; children from before an exec of wdrun without a fork. Returns whether
 * the target is a child now: then the supervisor is dying. Does not reap the
 * target, whose status is still wanted. */
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

/* Has the front act as supervisor, as far as the killing needs. */
static void
prepare_to_take_over(struct run *run, const struct statuspipe *status)
{
	run->watchers.is_front = true;
	target_note(run, status->target);
	/* PID 0: the target was not forked, or its PID was not sent. */
	if (status->target == 0)
		target_note_exit(&run->target, NULL, false);
	run->tree.callers_session = getsid(0);
	/* If this fails, only the timers wake this process. */
	run->watchers.signal_fd = signals_open();
	(void)close(run->watchers.lifeline[1]);
	run->watchers.lifeline[1] = -1;
}

/* Waits until the helpers of a supervisor that was killed are dead, as they may
 * hold files locked. PR_SET_PDEATHSIG has sent them SIGKILL. When the last
 * helper dies, the write end of the status pipe is closed. Waits for
 * HELPERS_PATIENCE at most, as a helper may hang in a file system. */
static void
await_helpers(const struct run *run)
{
	struct pollfd writers = { .fd = run->watchers.statuspipe[0] };

	(void)poll(&writers, 1, HELPERS_PATIENCE);
}

/* Closes what the caller has open, and leaves its directory. */
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
	/* Lets the supervisor fork the target first. */
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
