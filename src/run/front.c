/* The front, which the caller sees: it alone touches what the caller gave. */
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "proc/signals.h"
#include "run/run.h"

/* In a drain: how many bytes of other writers than the tree are carried on. */
#define OUTSIDERS_MAX ((uint64_t)3 * 1024 * 1024)
#define LAST_ROUNDS   16 /* of the pump, before a stop */

/* Has the supervisor, which is not reaped yet, look at the facts. */
static void
wake_supervisor(const struct run *run)
{
	if (kill(run->watchers.supervisor, SIGCHLD) == -1)
		(void)kill(run->watchers.supervisor, SIGCHLD); /* once more */
}

/* Has the supervisor obey ORDER, unless it is dead, or has hung for long. */
static void
send_order(const struct run *run, struct order order)
{
	struct facts *const facts = run->facts;

	if (run->watchers.supervisor_is_dead ||
	    facts->given - facts->taken == ORDERS_MAX)
		return;
	facts->orders[facts->given % ORDERS_MAX] = order;
	facts->given++; /* comes last: the order is complete then */
	wake_supervisor(run);
}

int64_t
front_carry(struct run *run, int64_t until)
{
	if (run->output.count == 0)
		return until - duration_now();

	const unsigned found =
	    output_pump(&run->output, run->watchers.signal_fd, until);

	if ((found & PUMP_FOUND) != 0)
		run->facts->is_complete = true;
	/* Before the target's start, the silence is not its own. */
	if ((found & PUMP_SILENT) != 0 && run->facts->output.is_started)
		run->facts->is_silent = true;
	if (found != 0)
		wake_supervisor(run);
	return 0;
}

/* --- signals -------------------------------------------------------------- */

bool
front_pass_on(struct run *run, const siginfo_t *info)
{
	const int signal = info->si_signo;
	/* To the whole job, with the target, unless that is not started yet. An
	 * inherited timer's SIGALRM is SI_KERNEL, too. */
	const bool from_terminal =
	    info->si_code == SI_KERNEL && run->facts->output.is_started &&
	    (SIGNAL_BIT(signal) & SIGNALS_OF_TERMINAL) != 0;

	/* While the job was stopped, SIGWINCH went to the shell only. */
	if (signal == SIGWINCH || signal == SIGCONT)
		output_copy_size(&run->output);
	if (signal == SIGCONT)
		terminal_take(&run->output.terminal);
	/* From a write(2) of this process: a message could not be written. */
	if (((signal == SIGPIPE || signal == SIGXFSZ) &&
	     info->si_pid == getpid()) ||
	    signal_is_ignored(signal) ||
	    info->si_pid == run->watchers.supervisor)
		return false;
	send_order(run, (struct order){ signal, from_terminal });
	/* What the terminal sends to a job may be for the command alone. */
	return (SIGNAL_BIT(signal) & SIGNALS_TERMINATING) != 0 &&
	       !(from_terminal && run->target->shares_group &&
	         !run->target->has_exited);
}

int64_t
front_suspend_job(struct run *run, unsigned suspends)
{
	const int stop = run->facts->suspend_signal;
	const bool is_of_terminal = (SIGNAL_BIT(stop) & SIGNALS_OF_STOP) != 0;
	const int signal = is_of_terminal ? stop : SIGTSTP;
	const int64_t now = duration_now();
	siginfo_t info;

	/* Before the kill(2) below: that would merge with the terminal's
	 * signal, which pauses the clocks, and would discard a SIGCONT. */
	while (signals_take(SIGNALS_OF_STOP | SIGNAL_BIT(SIGCONT), &info, 0) >
	       0)
		(void)front_pass_on(run, &info);

	/* An editor that was just stopped has written to restore the screen:
	 * that has to be out before the shell's prompt. */
	for (int i = 0; i < LAST_ROUNDS && !output_is_empty(&run->output); i++)
		(void)front_carry(run, now);
	terminal_give_back(&run->output.terminal, false);
	if (run->output.terminal.is_keyboard && stop == SIGTSTP &&
	    run->callers_group > 1)
		(void)kill(-run->callers_group, SIGTSTP);
	/* The stop signal, which is blocked, discards a SIGCONT that is
	 * pending, and a later SIGCONT discards the stop signal (not in
	 * signal(7), but in the kernel's prepare_signal()). So a SIGCONT of the
	 * supervisor is either still to come, or its reason is seen here. */
	(void)kill(getpid(), signal);

	const bool goes_on = run->facts->suspends != suspends;

	if (goes_on)
		(void)signals_take(SIGNALS_OF_STOP, &info, 0);
	else
		signal_deliver(signal);

	const int64_t stopped = duration_now() - now;

	/* In the front, --timeout only bounds the drain now. */
	run->options.timeout = duration_add(run->options.timeout, stopped);
	run->output.quiet_since = duration_now();
	terminal_take(&run->output.terminal);
	/* The SIGCONT that ended the stop is pending, and will be passed on. If
	 * there is none, the kernel has ignored the stop, as it does in an
	 * orphaned process group: then the tree has to be continued as well. A
	 * SIGSTOP of the target, though, is for its sender to undo. */
	if (!goes_on && is_of_terminal &&
	    (SIGNAL_BIT(SIGCONT) & signals_pending()) == 0)
		send_order(run, (struct order){ SIGCONT, false });
	return stopped;
}

/* --- the drain ------------------------------------------------------------ */

/* Carries on for survivors, in a process that nobody waits for. */
static void
leave_behind(struct run *run)
{
	int keep[OUTPUT_FDS] = { 0 };

	if (plain_fork() != 0)
		return;
	output_keep(&run->output, true, keep);
	/* stderr may be another program's by then. */
	(void)close(STDERR_FILENO);
	fds_release(keep, OUTPUT_FDS);
	while (!output_is_over(&run->output))
		(void)output_pump(&run->output, -1, NEVER);
	_exit(0);
}

/* Takes the signals of a drain, and counts those that cancel the run. */
static void
take_signals(struct run *run)
{
	siginfo_t info;
	int signal;

	while ((signal = signals_take(SIGNALS_ALL, &info, 0)) > 0) {
		run->cancels += front_pass_on(run, &info);
		/* Ctrl-Z at "wdrun -i 9 seq 99999 | less" stops the job. */
		if ((SIGNAL_BIT(signal) & SIGNALS_OF_STOP) != 0) {
			(void)kill(getpid(), signal);
			signal_deliver(signal);
		}
	}
}

/* Until when readers may take the rest of the output: as long as --timeout
 * says. Where the run was to end, they have no more time than a stop, and have
 * to take something every READER_PATIENCE. */
static int64_t
end_of_drain(const struct run *run, int64_t began, int64_t taken)
{
	const enum reason stop = run->facts->reason;
	const bool is_bounded = run->watchers.has_taken_over ||
	                        run->cancels > 0 || stop == REASON_CANCELLED ||
	                        stop == REASON_PARENT_LOST ||
	                        stop == REASON_TIMEOUT;
	const int64_t timeout =
	    duration_add(run->facts->output.started, run->options.timeout);
	const int64_t end = duration_add(began, run->options.kill_after);
	const int64_t patience = taken + READER_PATIENCE;

	if (!is_bounded && duration_now() < timeout)
		return timeout;
	return end < patience ? end : patience;
}

void
front_drain(struct run *run)
{
	struct output *const output = &run->output;
	const int64_t began = duration_now();
	const uint64_t start = output->facts->relayed;
	uint64_t relayed = start;
	int64_t taken = began;

	if (output->count == 0)
		return;
	/* Survivors are let go. */
	if (nobody_is_left(run) && !run->facts->tree_is_empty) {
		leave_behind(run);
		return;
	}
	while (!output_is_empty(output) && run->cancels < CANCELS_MAX) {
		const int64_t end = end_of_drain(run, began, taken);

		if (duration_now() >= end)
			break;
		/* Others write on: what the tree has left fits in its pipes. */
		if (output->facts->relayed - start > OUTSIDERS_MAX)
			return;
		(void)output_pump(output, run->watchers.signal_fd, end);
		take_signals(run);
		if (output->facts->relayed != relayed)
			taken = duration_now();
		relayed = output->facts->relayed;
	}
	output_give_up(output);
	if (output->facts->undelivered > 0 && !run->options.quiet)
		message("%" PRIu64 " bytes of output are lost: the reader did "
		        "not take them in time",
		        (uint64_t)output->facts->undelivered);
}
