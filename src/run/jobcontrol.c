/* Job control: who stops with whom, and who is continued. */
#include "run/jobcontrol.h"

#include <sys/wait.h>

#include <signal.h>

#include "base/duration.h"
#include "proc/signals.h"
#include "proc/treekill.h"
#include "proc/wait.h"
#include "run/run.h"
#include "run/target.h"

#define WAKES         100
#define WAKE_INTERVAL (10 * MILLISECOND)

/* A front in another PID namespace ("unshare --pid" without a fork) has no PID
 * here, and kill(0) would hit other processes. The PID of a dead front may be
 * another process's. */
static void
signal_front(const struct run *run, int signal, int value)
{
	if (run->watchers.front > 0 && !run->watchers.front_is_lost &&
	    !run->watchers.is_front)
		(void)sigqueue(run->watchers.front, signal,
		               (union sigval){ .sival_int = value });
}

/*
 * Any stop of the target stops the front: the target may have given the
 * terminal to a process group of its own, as an interactive shell does, and
 * only the caller's shell, which waits for the front, can take the terminal
 * back. A SIGSTOP pauses no timer, though.
 */
void
jobcontrol_follow(struct run *run, int64_t now)
{
	siginfo_t info;

	while (!run->target.has_exited &&
	       wait_peek(run->target.pid, WSTOPPED | WCONTINUED, &info) ==
	           run->target.pid) {
		const bool is_terminals =
		    signal_is_terminal_stop(info.si_status);

		run->job.target_is_stopped = info.si_code != CLD_CONTINUED;
		if (!run->job.target_is_stopped) {
			/* By the caller's shell, or by somebody else. */
			jobcontrol_end(run, now);
			continue;
		}
		if (is_terminals && run->state < STATE_STOPPING)
			timers_pause(&run->timers, now);
		run->job.front_is_stopped = true;
		run->timers.due[TIMER_WAKE] = NEVER;
		signal_front(run, SIGNAL_TO_STOP, info.si_status);
	}
}

void
jobcontrol_stop(struct run *run, int signal, int64_t now)
{
	if (run->target.shares_group) {
		treekill_signal_now(&run->tree, signal);
		return;
	}
	run->job.front_is_stopped = true;
	if (run->state != STATE_RUNNING && run->state != STATE_LINGERING)
		return;
	/* SIGSTOP: the target's process group is orphaned, and the kernel
	 * ignores a terminal's stop signals for such a group: setpgid(2). */
	treekill_signal_now(&run->tree, SIGSTOP);
	timers_pause(&run->timers, now);
}

void
jobcontrol_continue(struct run *run, int64_t now)
{
	run->job.front_is_stopped = false;
	run->timers.due[TIMER_WAKE] = NEVER;
	if (run->target.shares_group) {
		/* The shell has continued the whole group, most often. */
		jobcontrol_follow(run, now);
		if (run->job.target_is_stopped && !run->target.has_exited)
			treekill_signal_now(&run->tree, SIGCONT);
	} else if (run->timers.paused_at != NEVER) {
		timers_resume(&run->timers, now);
		treekill_signal_now(&run->tree, SIGCONT);
	} else {
		target_signal(&run->target, SIGCONT);
	}
}

void
jobcontrol_end(struct run *run, int64_t now)
{
	timers_resume(&run->timers, now);
	if (!run->job.front_is_stopped)
		return;
	run->job.wakes_left = WAKES;
	jobcontrol_wake(run, now);
}

/* By kill(2), by which the front knows what this SIGCONT is for. */
void
jobcontrol_continue_relays(const struct run *run)
{
	if (run->watchers.front > 0 && !run->watchers.front_is_lost &&
	    run->timers.paused_at == NEVER)
		(void)kill(run->watchers.front, SIGCONT);
}

/*
 * SIGCONT is lost on a front that is just about to stop: the stop signal
 * discards it (signal(7) does not say so, prepare_signal() in the kernel does).
 * So SIGCONT is sent until the front, which forwards each one, has answered.
 */
void
jobcontrol_wake(struct run *run, int64_t now)
{
	signal_front(run, SIGCONT, 0);
	run->timers.due[TIMER_WAKE] = run->job.wakes_left-- > 0
	                                  ? duration_add(now, WAKE_INTERVAL)
	                                  : NEVER;
}
