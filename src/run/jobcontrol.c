/* Job control: stops and continues front, target and timers together. */
#include "run/jobcontrol.h"

#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "io/tty_input.h"
#include "proc/signals.h"
#include "proc/wait.h"
#include "run/run.h"
#include "run/target.h"

#define WAKES         100
#define WAKE_INTERVAL (10 * MILLISECOND)

/* Not a front in another PID namespace ("unshare --pid" without a fork), which
 * has no PID here: kill(0) would signal a process group. Nor a dead front,
 * whose PID may be another process's. */
static void
signal_front(const struct run *run, int signal, int value)
{
	if (run->watchers.front > 0 && !run->watchers.front_is_lost &&
	    !run->watchers.is_front)
		(void)sigqueue(run->watchers.front, signal,
		               (union sigval){ .sival_int = value });
}

bool
jobcontrol_has_target(const struct run *run)
{
	return run->target.shares_group && !run->target.has_exited &&
	       getpgid(run->target.pid) == run->job.group;
}

/* Stops the timers, if the terminal has stopped the command. */
static void
pause_timers(struct run *run, int64_t now)
{
	if (run->job.terminal_stop != 0 && run->state < STATE_STOPPING)
		timers_pause(&run->timers, now);
}

static void
stop_front(struct run *run, int signal)
{
	run->job.front_is_stopped = true;
	run->timers.due[TIMER_WAKE] = NEVER;
	signal_front(run, SIGNAL_TO_STOP,
	             run->job.terminal_stop != 0 ? run->job.terminal_stop
	                                         : signal);
}

/* At a terminal, any stop of the target stops the front: the target may have
 * given the terminal to another process group, as an interactive shell does,
 * and only the caller's shell, which waits for the front, can take the terminal
 * back. But only a terminal's stop pauses the timers: if the target stops
 * itself, its children may run on. */
void
jobcontrol_follow(struct run *run, int64_t now)
{
	siginfo_t info;

	while (!run->target.has_exited && run->state < STATE_KILLING &&
	       wait_peek(run->target.pid, WSTOPPED | WCONTINUED, &info) ==
	           run->target.pid) {
		run->job.target_is_stopped = info.si_code != CLD_CONTINUED;
		if (!run->job.target_is_stopped) {
			/* Some process has sent SIGCONT. */
			jobcontrol_end(run, now);
			continue;
		}
		if (info.si_status == SIGTSTP &&
		    tty_input_has_stopped(&run->output.tty_input))
			run->job.terminal_stop = SIGTSTP;
		pause_timers(run, now);
		if (run->target.shares_group || run->job.is_asked ||
		    run->output.tty_input.is_used)
			stop_front(run, info.si_status);
	}
}

void
jobcontrol_stop(struct run *run, int signal, bool is_terminals, int64_t now)
{
	if (run->state >= STATE_STOPPING)
		return;
	run->job.is_asked = true;
	if (is_terminals)
		run->job.terminal_stop = signal;
	/* In the caller's session, a process group that the target made is
	 * orphaned, since the supervisor is in another session, and the kernel
	 * ignores a terminal's stop signals for an orphaned group: setpgid(2).
	 * So such a group gets SIGSTOP. */
	if (!is_terminals || !jobcontrol_has_target(run))
		target_signal(&run->target,
		              is_terminals && run->target.shares_group
		                  ? SIGSTOP
		                  : signal);
	if (run->target.has_exited)
		stop_front(run, signal);
	if (run->target.has_exited || run->job.target_is_stopped)
		pause_timers(run, now);
}

void
jobcontrol_continue(struct run *run, int64_t now)
{
	/* The caller's shell has mostly continued the whole group. */
	jobcontrol_follow(run, now);
	if (run->job.target_is_stopped || !jobcontrol_has_target(run))
		target_signal(&run->target, SIGCONT);
	run->job.front_is_stopped = false;
	jobcontrol_end(run, now);
}

void
jobcontrol_end(struct run *run, int64_t now)
{
	timers_resume(&run->timers, now);
	run->job.terminal_stop = 0;
	run->job.is_asked = false;
	run->timers.due[TIMER_WAKE] = NEVER;
	if (!run->job.front_is_stopped)
		return;
	run->job.wakes_left = WAKES;
	jobcontrol_wake(run, now);
}

/* By kill(2), not sigqueue(3): the front tells the two SIGCONTs apart. */
void
jobcontrol_continue_relays(const struct run *run)
{
	if (run->watchers.front > 0 && !run->watchers.front_is_lost &&
	    run->timers.paused_at == NEVER)
		(void)kill(run->watchers.front, SIGCONT);
}

/* A front that is about to stop loses a SIGCONT: the stop signal discards it
 * (not in signal(7), but in the kernel's prepare_signal()). So SIGCONT is sent
 * until the front, which forwards each SIGCONT, has answered. */
void
jobcontrol_wake(struct run *run, int64_t now)
{
	signal_front(run, SIGCONT, 0);
	run->timers.due[TIMER_WAKE] = run->job.wakes_left-- > 0
	                                  ? duration_add(now, WAKE_INTERVAL)
	                                  : NEVER;
}
