/* Signals to the supervisor: which of them count, and what they lead to. */
#include "heed.h"

#include <signal.h>

#include "../watchdog.h"
#include "duration.h"
#include "jobcontrol.h"
#include "judge.h"
#include "narrator.h"
#include "signals.h"
#include "supervisor.h"
#include "treekill.h"

#define ECHO_WINDOW SECOND /* a loaded machine takes its time */

/*
 * Whether a terminating signal is one that has come already, by another way:
 * whoever stops a tree with a wdrun in it (an outer wdrun, a shell's group)
 * hits front and supervisor alike, and may do so at each level of nesting.
 */
static bool
is_echo(const struct run *run, const struct news *news)
{
	return run->cancels > 0 && news->sender != run->cancel_sender &&
	       news->now - run->cancelled_at < ECHO_WINDOW;
}

/* As to timeout(1): told of, and so that a stopped process gets it too. */
static void
pass_on(struct run *run)
{
	if (run->options.is_timeout)
		narrator_start(run, run->state, REASON_CANCELLED);
	supervisor_signal_tree(run, run->cancel_signal);
	if (run->options.is_timeout)
		treekill_signal(&run->tree, SIGCONT);
}

static void
heed_terminating_signal(struct run *run, const struct news *news)
{
	if (is_echo(run, news))
		return;
	/* What came both ways came once, whatever lay between the two. */
	if (news->is_passed_on)
		run->cancels_passed_on++;
	else
		run->cancels_direct++;
	run->cancels = run->cancels_direct > run->cancels_passed_on
	                   ? run->cancels_direct
	                   : run->cancels_passed_on;
	run->cancel_signal = news->signal;
	run->cancel_sender = news->sender;
	run->cancelled_at = news->now;
	/* The first one starts the stop, which sends it. */
	if (run->state == STATE_STOPPING || judge_only_passes_on(run))
		pass_on(run);
}

void
heed(struct run *run, const struct news *news)
{
	const int signal = news->signal;

	/* What the terminal sends, the front gets as well. */
	if (news->code == SI_KERNEL && signal_is_terminals(signal))
		return;
	if (signal_is_ignored(signal) ||
	    signal_is_by_write(signal, news->sender))
		return;
	/* That one was to have ourselves go on, after somebody's SIGSTOP. */
	if (signal == SIGCONT && news->code == SI_USER &&
	    news->sender == run->front)
		return;

	/* "may behave as if the time limit had been reached": POSIX.1-2024,
	 * timeout, ASYNCHRONOUS EVENTS. */
	if (signal == SIGALRM && run->options.is_timeout)
		run->clocks.timeout = news->now;
	else if (signal_is_terminating(signal))
		heed_terminating_signal(run, news);
	else if (signal_is_terminal_stop(signal))
		jobcontrol_stop(run, signal, news->now);
	else if (signal == SIGCONT)
		jobcontrol_continue(run, news->now);
	else
		supervisor_forward(run, signal);
}
