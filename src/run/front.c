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
#include "proc/procfs.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "proc/wait.h"
#include "run/exec_failure.h"
#include "run/forward.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/statuspipe.h"
#include "run/target.h"

#define HELPERS_PATIENCE 200 /* milliseconds */

/* The supervisor's time: beside --timeout and --kill-after, for a stop, with
 * all that tree_kill() may take; and for what comes after the outcome. */
#define TEARDOWN_PATIENCE (10 * SECOND)
#define STOP_PATIENCE     (TREE_KILL_BOUND + TEARDOWN_PATIENCE)
#define WOKEN_LATE        SECOND

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
	const int64_t began = duration_now();

	signal_stop_by(is_of_terminal ? signal : SIGTSTP);
	run->watchers.deadline =
	    duration_add(run->watchers.deadline, duration_now() - began);
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

/* The supervisor has until TIME, or until an earlier bound. */
static void
bound_supervisor(struct run *run, int64_t time)
{
	if (run->watchers.deadline > time)
		run->watchers.deadline = time;
}

/* From now on, a stop is bounded. */
static void
bound_stop(struct run *run)
{
	bound_supervisor(run, duration_add(duration_now(),
	                                   duration_add(run->options.kill_after,
	                                                STOP_PATIENCE)));
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

	const bool is_of_terminal = is_terminals(info);

	forward(run, signal, is_of_terminal ? TERMINAL : info->si_pid);
	/* What the terminal sends to a job may be for the command alone. */
	if (signal_is_terminating(signal) &&
	    !(is_of_terminal && run->target.shares_group))
		bound_stop(run);
}

/* Attends to signals until a child may be dead, the supervisor has news, or its
 * deadline is over. Returns also after EINTR, at a SIGCONT after a SIGSTOP; and
 * after a SIGURG from another process: the kernel keeps no second SIGURG, for a
 * helper's death, while one is pending. */
static void
attend_until_child(struct run *run)
{
	siginfo_t info;
	int signal;

	do {
		const int64_t left =
		    run->watchers.deadline == NEVER
		        ? NEVER
		        : run->watchers.deadline - duration_now();

		signal = signals_wait(&info, left > 0 ? left : 0);
		if (signal != -1 && signal != SIGCHLD &&
		    !helper_is_death(signal, info.si_code))
			attend(run, &info);
	} while (signal != -1 && signal != SIGCHLD &&
	         signal != HELPER_EXIT_SIGNAL);
}

/* Reads what the supervisor has sent, and bounds the supervisor accordingly. */
static void
read_news(struct run *run, struct statuspipe *status)
{
	const struct statuspipe before = *status;

	statuspipe_read(run->watchers.statuspipe[0], status);
	if (status->is_stopping && !before.is_stopping)
		bound_stop(run);
	if (status->outcome.kind != before.outcome.kind)
		bound_supervisor(
		    run, duration_add(duration_now(), TEARDOWN_PATIENCE));
}

/*
 * Whether the supervisor did not end by its deadline, and not even SIGKILL ends
 * it: it may hang in a file system that does not answer. A debugger may have
 * stopped it, of which the kernel tells the tracer alone (ptrace(2)): then
 * SIGKILL ends it.
 */
static bool
has_given_up(struct run *run)
{
	struct watchers *const watchers = &run->watchers;
	const int64_t now = duration_now();

	if (now < watchers->deadline)
		return false;
	if (watchers->is_given_up)
		return true;
	/* Both may have been stopped together, as by a control group's
	 * freezer. */
	if (now - watchers->deadline > WOKEN_LATE) {
		watchers->deadline = now + TEARDOWN_PATIENCE;
		return false;
	}
	if (!run->options.quiet)
		message("the supervisor (PID %d) does not answer, killing it",
		        watchers->supervisor);
	(void)kill(watchers->supervisor, SIGKILL); /* not reaped yet */
	watchers->is_given_up = true;
	watchers->deadline = now + SECOND;
	return false;
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
	return child == CHILD_NONE_LEFT;
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
		read_news(run, status);
		if (child == status->target)
			return true;
		if (child == run->watchers.supervisor)
			return false; /* its own SIGCHLD is still to come */
		(void)wait_reap(child);
		output_note_death(&run->output, child);
	}
	return false;
}

/* Has the front act as supervisor, as far as the killing needs. */
static void
prepare_to_take_over(struct run *run, const struct statuspipe *status)
{
	siginfo_t info;

	run->watchers.is_front = true;
	run->watchers.is_given_up = false;
	/* PID 0: the target was not forked, or its PID was not sent. It may be
	 * reaped, and its PID be another process's. */
	target_note(run, wait_peek(status->target, WEXITED | WNOWAIT, &info) ==
	                         CHILD_NONE_LEFT
	                     ? 0
	                     : status->target);
	if (run->target.pid == 0)
		target_note_exit(&run->target, NULL, false);
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
		procfs_fd(),
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
	bool was_killed = false;

	detach(run);
	run->watchers.deadline = NEVER;
	if (run->options.timeout != NEVER) {
		bound_stop(run);
		run->watchers.deadline =
		    duration_add(run->watchers.deadline, run->options.timeout);
	}
	do {
		attend_until_child(run);
		read_news(run, &status);
	} while (!supervisor_is_dead(run, &was_killed) &&
	         !target_is_ours(run, &status) && !has_given_up(run));

	read_news(run, &status);
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
