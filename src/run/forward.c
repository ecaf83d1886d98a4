/* Signals that reach the supervisor: for whom each is, and what follows. */
#include "run/forward.h"

#include <signal.h>

#include "base/duration.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "run/jobcontrol.h"
#include "run/run.h"
#include "run/target.h"
#include "run/tell.h"

#define ECHO_WINDOW SECOND /* long, as the machine may be busy */

/*
 * Notes the terminating signal of EVENT. Returns false if the signal is an echo
 * of a signal that was noted.
 *
 * A sender that signals all processes of a tree with a wdrun in it (an outer
 * wdrun, pkill -f) signals both front and supervisor, and the front forwards
 * its signal: a signal that came both ways counts once. Nested wdruns forward
 * it once more at each level: so the same signal from another sender is an echo
 * too, if it follows at once and the supervisor was signalled as well. Whoever
 * wants to end this run alone signals the front.
 */
static bool
note(struct cancel *cancel, const struct event *event)
{
	short *const way = &cancel->ways[event->signal][event->is_forwarded];
	const int other = cancel->ways[event->signal][!event->is_forwarded];

	if (*way + other > 0 && event->sender != cancel->sender &&
	    event->now - cancel->at < ECHO_WINDOW &&
	    (!event->is_forwarded || other > 0))
		return false;
	++*way;
	if (*way <= other)
		return false;
	cancel->signal = event->signal;
	cancel->sender = event->sender;
	cancel->at = event->now;
	return true;
}

static void
cancel_by_signal(struct run *run, const struct event *event)
{
	/* Without -k, timeout(1) passes a signal on and does no more, so that a
	 * daemon may read its configuration again. */
	const bool is_passed_on =
	    run->options.is_timeout && run->options.kill_after == NEVER;

	if (!note(&run->cancel, event))
		return;
	if (!is_passed_on) {
		run->cancel.count++;
		/* The stop that now begins sends the signal itself. */
		if (run->state != STATE_STOPPING)
			return;
	}
	if (run->options.is_timeout)
		tell_signal(run, run->cancel.signal);
	(void)tree_signal(&run->tree, run->cancel.signal,
	                  run->timers.due[TIMER_KILL]);
}

void
forward_signal(struct run *run, const struct event *event)
{
	const int signal = event->signal;

	/* A terminal has signalled this process: with the caller's group,
	 * before this process left that group; or because the command's own
	 * terminal was hung up, of which the kernel tells only the leader of
	 * the session (tty_signal_session_leader()). */
	if (event->code == SI_KERNEL && signal_is_terminals(signal)) {
		if (signal == SIGHUP && run->output.has_pty)
			target_signal(&run->target, signal);
		return;
	}
	if (signal_is_ignored(signal) ||
	    signal_is_by_write(signal, event->sender))
		return;
	/* The front sent this SIGCONT to wake the supervisor itself (front.c,
	 * supervisor_is_dead); the tree was not stopped. */
	if (signal == SIGCONT && event->code == SI_USER &&
	    event->sender == run->watchers.front)
		return;

	/* "may behave as if the time limit had been reached": POSIX.1-2024,
	 * timeout, ASYNCHRONOUS EVENTS. */
	if (signal == SIGALRM && run->options.is_timeout)
		run->timers.due[TIMER_TIMEOUT] = event->now;
	else if (signal_is_terminal_stop(signal))
		jobcontrol_stop(run, signal, event->sender == TERMINAL,
		                event->now);
	else if (signal == SIGCONT)
		jobcontrol_continue(run, event->now);
	else if (event->sender == TERMINAL && signal != SIGHUP &&
	         jobcontrol_has_target(run))
		return; /* the terminal has signalled the target too */
	else if (signal_is_terminating(signal))
		cancel_by_signal(run, event);
	else
		target_signal(&run->target, signal);
}
