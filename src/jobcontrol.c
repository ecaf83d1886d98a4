/* Stopping and continuing, as a shell and its terminal want it. */
#include "jobcontrol.h"

#include <sys/wait.h>

#include <signal.h>

#include "children.h"
#include "duration.h"
#include "signals.h"
#include "supervisor.h"

#define WAKES         100
#define WAKE_INTERVAL (10 * MILLISECOND)

static void
pause_clocks(struct run *run, int64_t now)
{
	if (run->paused_at == NEVER)
		run->paused_at = now;
}

static void
shift(int64_t *clock, int64_t ns)
{
	*clock = duration_add(*clock, ns); /* NEVER stays NEVER */
}

void
jobcontrol_resume_clocks(struct run *run, int64_t now)
{
	if (run->paused_at == NEVER)
		return;

	const int64_t pause = now - run->paused_at;

	run->paused_at = NEVER;
	run->resumed_at = now;
	shift(&run->clocks.timeout, pause);
	shift(&run->clocks.idle, pause);
	shift(&run->clocks.heartbeat, pause);
	shift(&run->clocks.until, pause);
	shift(&run->clocks.kill, pause);
	shift(&run->clocks.idle_after_exit, pause);
	shift(&run->clocks.max_after_exit, pause);
}

/* The front may be in another PID namespace ("unshare --pid" without a fork).
 * Then there is no number for it here, and kill(0) would mean others. And once
 * it is dead, its number may be anybody's. */
static void
signal_front(const struct run *run, int signal, int value)
{
	if (run->front > 0 && !run->front_is_lost && !run->is_front)
		(void)sigqueue(run->front, signal,
		               (union sigval){ .sival_int = value });
}

/*
 * Whatever stops the target stops the front: the target may have a terminal's
 * foreground group of its own, as an interactive shell has, and nobody but the
 * caller's shell could take the terminal back. A SIGSTOP stops no clock,
 * though.
 */
void
jobcontrol_follow(struct run *run, int64_t now)
{
	siginfo_t info;

	while (!run->target_exited &&
	       children_look(run->target, WSTOPPED | WCONTINUED, &info) ==
	           run->target) {
		const bool is_terminals =
		    signal_is_terminal_stop(info.si_status);

		run->target_stopped = info.si_code != CLD_CONTINUED;
		if (!run->target_stopped) {
			/* Which need not be the shell's doing. */
			jobcontrol_end(run, now);
			continue;
		}
		if (is_terminals && run->state < STATE_STOPPING)
			pause_clocks(run, now);
		run->front_stopped = true;
		run->clocks.wake = NEVER;
		signal_front(run, SIGNAL_TO_STOP, info.si_status);
	}
}

void
jobcontrol_stop(struct run *run, int signal, int64_t now)
{
	if (run->shares_group) {
		supervisor_signal_tree(run, signal);
		return;
	}
	run->front_stopped = true;
	if (run->state != STATE_RUNNING && run->state != STATE_LINGERING)
		return;
	/* The target leads an orphaned process group, which the kernel does
	 * not let a terminal stop: setpgid(2). */
	supervisor_signal_tree(run, SIGSTOP);
	pause_clocks(run, now);
}

void
jobcontrol_continue(struct run *run, int64_t now)
{
	run->front_stopped = false;
	run->clocks.wake = NEVER;
	if (run->shares_group) {
		/* Most often the group got it from the shell. */
		jobcontrol_follow(run, now);
		if (run->target_stopped && !run->target_exited)
			supervisor_signal_tree(run, SIGCONT);
	} else if (run->paused_at != NEVER) {
		jobcontrol_resume_clocks(run, now);
		supervisor_signal_tree(run, SIGCONT);
	} else {
		supervisor_forward(run, SIGCONT);
	}
}

void
jobcontrol_end(struct run *run, int64_t now)
{
	jobcontrol_resume_clocks(run, now);
	if (!run->front_stopped)
		return;
	run->wakes_left = WAKES;
	jobcontrol_wake(run, now);
}

/*
 * A front that is just about to stop loses the SIGCONT that comes a moment too
 * early: a stop signal discards it (signal(7) does not say so, prepare_signal()
 * in the kernel does). So it is sent until the front, which passes each on, has
 * answered.
 */
void
jobcontrol_wake(struct run *run, int64_t now)
{
	signal_front(run, SIGCONT, 0);
	run->clocks.wake =
	    run->wakes_left-- > 0 ? duration_add(now, WAKE_INTERVAL) : NEVER;
}
