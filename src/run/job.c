/* Orders and job control: for whom each signal is, and what follows. */
#include "run/job.h"

#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "proc/children.h"
#include "proc/signals.h"
#include "run/decide.h"
#include "run/run.h"
#include "run/talk.h"
#include "run/target.h"
#include "run/tell.h"

#define CONTINUE_INTERVAL (10 * MILLISECOND)

/* Whether a signal of the terminal to the caller's job reaches the target: the
 * target is alive, and in the caller's process group. */
static bool
has_target(const struct run *run)
{
	return run->target.shares_group && !run->target.has_exited &&
	       getpgid(run->target.pid) == run->job.group;
}

/* --- stops ---------------------------------------------------------------- */

/* Stops the clocks, if the terminal has stopped the command. */
static void
stop_clocks(struct run *run, int64_t now)
{
	if (run->job.terminal_stop != 0 && run->state < STATE_STOPPING)
		clocks_pause(run, now);
}

static void
stop_front(struct run *run, int signal)
{
	run->job.front_stops++;
	run->due[CLOCK_CONTINUE] = NEVER;
	talk_news(run,
	          &(struct news){ .kind = NEWS_STOPPED,
	                          .value = run->job.terminal_stop != 0
	                                       ? run->job.terminal_stop
	                                       : signal },
	          true);
}

/* A front that is about to stop loses a SIGCONT: the stop signal discards it
 * (not in signal(7), but in the kernel's prepare_signal()). So SIGCONT is sent
 * until the front has answered each stop. */
void
job_continue_front(struct run *run, int64_t now)
{
	run->due[CLOCK_CONTINUE] = NEVER;
	if (run->job.front_stops == 0)
		return;
	talk_signal_front(run, SIGCONT);
	run->due[CLOCK_CONTINUE] = now + CONTINUE_INTERVAL;
}

void
job_end(struct run *run, int64_t now)
{
	clocks_resume(run, now);
	run->job.terminal_stop = 0;
	run->job.is_asked = false;
	job_continue_front(run, now);
}

/* At a terminal, any stop of the target stops the front: the target may have
 * given the terminal to another process group, as an interactive shell does,
 * and only the caller's shell, which waits for the front, can take the terminal
 * back. But only a terminal's stop pauses the clocks: if the target stops
 * itself, its children may run on. */
void
job_follow(struct run *run, int64_t now)
{
	siginfo_t info;

	while (!run->target.has_exited && run->state < STATE_KILLING &&
	       wait_peek(run->target.pid, WSTOPPED | WCONTINUED, &info) ==
	           run->target.pid) {
		run->job.target_is_stopped = info.si_code != CLD_CONTINUED;
		if (!run->job.target_is_stopped) {
			/* Some process has sent SIGCONT. */
			job_end(run, now);
			continue;
		}
		/* On a terminal of its own, Ctrl-Z does that. */
		if (info.si_status == SIGTSTP && run->terminal.is_keyboard)
			run->job.terminal_stop = SIGTSTP;
		stop_clocks(run, now);
		if (run->target.shares_group || run->job.is_asked ||
		    run->terminal.is_keyboard)
			stop_front(run, info.si_status);
	}
}

static void
stop(struct run *run, int signal, bool from_terminal, int64_t now)
{
	if (run->state >= STATE_STOPPING)
		return;
	run->job.is_asked = true;
	if (from_terminal)
		run->job.terminal_stop = signal;
	/* In the caller's session, a process group that the target made is
	 * orphaned, since the supervisor is in another session, and the kernel
	 * ignores a terminal's stop signals for an orphaned group: setpgid(2).
	 * So such a group gets SIGSTOP. */
	if (!from_terminal || !has_target(run))
		target_signal(&run->target,
		              from_terminal && run->target.shares_group
		                  ? SIGSTOP
		                  : signal);
	if (run->target.has_exited)
		stop_front(run, signal);
	if (run->target.has_exited || run->job.target_is_stopped)
		stop_clocks(run, now);
}

static void
go_on(struct run *run, int64_t now)
{
	/* The caller's shell has mostly continued the whole group. */
	job_follow(run, now);
	if (run->job.target_is_stopped || !has_target(run))
		target_signal(&run->target, SIGCONT);
	job_end(run, now);
}

/* --- other signals -------------------------------------------------------- */

static void
cancel(struct run *run, int signal, int64_t now)
{
	/* timeout(1) without -k only passes a signal on: on a SIGHUP, say, a
	 * daemon may read its configuration again. */
	const bool is_passed_on =
	    run->options.is_timeout && run->options.kill_after == NEVER;

	run->cancel.signal = signal;
	run->cancel.at = now;
	if (!is_passed_on) {
		run->cancel.count++;
		/* The stop that now begins sends the signal itself. */
		if (run->state != STATE_STOPPING)
			return;
	}
	if (run->options.is_timeout)
		tell_signal(run, signal);
	(void)tree_signal(&run->tree, signal, run->due[CLOCK_KILL]);
}

static void
obey_signal(struct run *run, int signal, bool from_terminal, int64_t now)
{
	/* "may behave as if the time limit had been reached": POSIX.1-2024,
	 * timeout, ASYNCHRONOUS EVENTS. */
	if (signal == SIGALRM && run->options.is_timeout)
		run->due[CLOCK_TIMEOUT] = now;
	else if (signal_is_in(signal, SIGNALS_OF_STOP))
		stop(run, signal, from_terminal, now);
	else if (signal == SIGCONT)
		go_on(run, now);
	/* SIGHUP comes to a session's leader alone. */
	else if (from_terminal && signal != SIGHUP && has_target(run))
		return; /* the terminal has signalled the target too */
	else if (signal_is_in(signal, SIGNALS_TERMINATING))
		cancel(run, signal, now);
	else
		target_signal(&run->target, signal);
}

bool
job_is_active(struct run *run)
{
	const uint64_t before = run->activity;

	tree_read(&run->tree, NEVER);
	run->activity = tree_activity(&run->tree) + run->facts->output.relayed;
	return run->activity != before;
}

void
job_obey(struct run *run, const struct order *order, int64_t now)
{
	switch (order->kind) {
	case ORDER_SIGNAL:
		obey_signal(run, order->signal, order->from_terminal, now);
		break;
	case ORDER_CONTINUED:
		run->job.front_stops--;
		break;
	case ORDER_SILENT:
		if (run->options.idle_unless_busy && job_is_active(run))
			break;
		/* It comes again, if this one comes in a pause. */
		run->is_silent |= run->paused_at == NEVER;
		break;
	case ORDER_FOUND:
		run->is_complete = true;
		run->due[CLOCK_UNTIL] =
		    duration_add(now, run->options.until_grace);
		break;
	}
}
