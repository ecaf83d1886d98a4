/* What the supervisor does between two decisions: it sleeps, obeys orders,
 * follows the target's stops, reaps and looks. */
#include <sys/prctl.h>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/fds.h"
#include "proc/signals.h"
#include "run/run.h"

#define ORPHANS_DELAY    (10 * MILLISECOND) /* for more deaths */
#define ORPHANS_INTERVAL (250 * MILLISECOND)
#define ORDERS_AT_ONCE   8

int
supervisor_start(struct run *run)
{
	run->watchers.supervisor = getpid();
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* The front's death wakes this process, also from a stop. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	if (!supervisor_has_front(run)) /* already: no signal comes */
		(void)kill(getpid(), SIGCONT);
	if (!run->target->shares_group)
		(void)setsid(); /* a new process leads no group: never fails */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
	    output_lead(&run->output) == -1 || target_start(run) == -1)
		return -1;
	if (run->target->shares_group)
		(void)setsid(); /* the target stays in the caller's session */
	look_note_outputs(&run->facts->look, &run->output.fds[STDOUT_FILENO]);
	return 0;
}

/* --- what the watchers tell each other ------------------------------------ */

bool
supervisor_has_front(const struct run *run)
{
	return getppid() == run->watchers.front;
}

void
supervisor_signal_front(const struct run *run, int signal)
{
	if (supervisor_has_front(run)) /* else the PID may be another's */
		(void)kill(run->watchers.front, signal);
}

/* Whether a signal of the terminal to the caller's job reaches the target: the
 * target is alive, and in the caller's process group. */
static bool
has_target(const struct run *run)
{
	return run->target->shares_group && !run->target->has_exited &&
	       getpgid(run->target->pid) == run->callers_group;
}

/* --- job control ---------------------------------------------------------- */

/* Has clocks and front stand still with the target, which SIGNAL has stopped,
 * so that the caller's shell sees its job stop; also after the target's exit.
 * At a terminal, any stop of the target stops the front: the target may have
 * given the terminal to another process group, as an interactive shell does,
 * and only the caller's shell, which waits for the front, can take it back. But
 * only a terminal's stop pauses the clocks: if the target stops itself, its
 * children may run on. */
static void
suspend_with_target(struct run *run, int signal, int64_t now)
{
	if (run->terminal_suspend != 0 && run->state < STATE_STOPPING &&
	    run->paused_at == NEVER)
		run->paused_at = now;
	if (run->facts->suspends % 2 != 0 || getppid() != run->watchers.front ||
	    (!run->target->shares_group && !run->output.terminal.is_keyboard &&
	     !run->is_asked_to_suspend))
		return;
	run->facts->suspend_signal =
	    run->terminal_suspend != 0 ? run->terminal_suspend : signal;
	run->facts->suspends++;
	supervisor_signal_front(run, SIGCHLD);
}

/* The target goes on, or is dead: clocks and front go on as well. */
static void
resume_with_target(struct run *run, int64_t now)
{
	clocks_resume(run, now);
	run->terminal_suspend = 0;
	run->is_asked_to_suspend = false;
	if (run->facts->suspends % 2 == 0)
		return;
	run->facts->suspends++;
	supervisor_signal_front(run, SIGCONT);
}

void
supervisor_tell_outcome(struct run *run)
{
	run->facts->has_outcome = true;
	resume_with_target(run, duration_now());
	if (!run->facts->is_released) /* which may hang */
		supervisor_signal_front(run, SIGCHLD);
}

void
supervisor_follow_target(struct run *run, int64_t now)
{
	siginfo_t info;

	while (!run->target->has_exited && run->state < STATE_KILLING &&
	       wait_peek(run->target->pid, WSTOPPED | WCONTINUED, &info) ==
	           run->target->pid) {
		run->target_is_suspended = info.si_code != CLD_CONTINUED;
		/* On a terminal of its own, Ctrl-Z does that. */
		if (info.si_status == SIGTSTP &&
		    run->output.terminal.is_keyboard)
			run->terminal_suspend = SIGTSTP;
		if (run->target_is_suspended)
			suspend_with_target(run, info.si_status, now);
		else
			resume_with_target(run, now);
	}
}

static void
suspend(struct run *run, int signal, bool from_terminal, int64_t now)
{
	if (run->state >= STATE_STOPPING)
		return;
	run->is_asked_to_suspend = true;
	if (from_terminal)
		run->terminal_suspend = signal;
	/* A group that the target made in the caller's session is orphaned, as
	 * the supervisor is in another one: the kernel ignores a terminal's
	 * stop signals for it (setpgid(2)). So it gets SIGSTOP. */
	if (!from_terminal || !has_target(run))
		tree_signal_target(&run->tree,
		                   from_terminal && run->target->shares_group
		                       ? SIGSTOP
		                       : signal);
	if (run->target->has_exited || run->target_is_suspended)
		suspend_with_target(run, signal, now);
}

static void
resume(struct run *run, int64_t now)
{
	/* The caller's shell has mostly continued the whole group; but a stop
	 * that was passed on may not have taken effect yet. */
	supervisor_follow_target(run, now);
	if (run->target_is_suspended || !has_target(run) ||
	    (run->is_asked_to_suspend && run->terminal_suspend == 0))
		tree_signal_target(&run->tree, SIGCONT);
	resume_with_target(run, now);
}

/* --- other signals -------------------------------------------------------- */

static void
cancel(struct run *run, int signal)
{
	/* timeout(1) without -k only passes a signal on. */
	const bool is_passed_on =
	    run->options.is_timeout && run->options.kill_after == NEVER;

	run->cancel_signal = signal;
	if (!is_passed_on) {
		run->cancels++;
		/* The stop that now begins sends the signal itself. */
		if (run->state != STATE_STOPPING)
			return;
	}
	tell_signal(run, signal);
	(void)tree_signal(&run->tree, signal, run->due[CLOCK_KILL]);
}

static void
obey(struct run *run, struct order told, int64_t now)
{
	/* As if the time were over: POSIX.1-2024, ASYNCHRONOUS EVENTS. */
	if (told.signal == SIGALRM && run->options.is_timeout)
		run->due[CLOCK_TIMEOUT] = now;
	else if ((SIGNAL_BIT(told.signal) & SIGNALS_OF_STOP) != 0)
		suspend(run, told.signal, told.from_terminal, now);
	else if (told.signal == SIGCONT)
		resume(run, now);
	/* A hang-up is told to the leader of the session, which may be the
	 * front, and to the foreground group only when that leader dies. */
	else if (told.from_terminal && told.signal != SIGHUP && has_target(run))
		return; /* the terminal has signalled the target too */
	else if ((SIGNAL_BIT(told.signal) & SIGNALS_TERMINATING) != 0)
		cancel(run, told.signal);
	else
		tree_signal_target(&run->tree, told.signal);
}

bool
supervisor_sees_progress(struct run *run)
{
	const uint64_t before = run->activity;

	tree_read(&run->tree, NEVER);
	run->activity = tree_activity(&run->tree) + run->facts->output.writes;
	return run->activity != before;
}

static void
take_orders(struct run *run, int64_t now)
{
	struct facts *const facts = run->facts;

	/* Each may take a reading of the tree, and clocks may be due. */
	for (int i = 0; i < ORDERS_AT_ONCE && facts->taken != facts->given;
	     i++, facts->taken++)
		obey(run, facts->orders[facts->taken % ORDERS_MAX], now);
	if (facts->is_complete && run->due[CLOCK_UNTIL] == NEVER)
		run->due[CLOCK_UNTIL] =
		    duration_add(now, run->options.until_grace);
	/* It comes again, if this one comes in a pause. */
	if (atomic_exchange(&facts->is_silent, false) &&
	    (!run->options.idle_unless_busy || !supervisor_sees_progress(run)))
		run->is_silent |= run->paused_at == NEVER;
}

int64_t
supervisor_wait(struct run *run, int64_t until)
{
	struct pollfd fds[] = { { run->watchers.signal_fd, POLLIN, 0 },
		                { run->parent_fd, POLLIN, 0 } };
	siginfo_t info;
	int64_t wait =
	    run->facts->taken != run->facts->given ? 0 : until - duration_now();

	if (run->parent_fd != -1) {
		(void)fds_poll(fds, 2, wait, NULL);
		wait = 0;
	}
	/* Signals only wake this process up. Others may send them for ever. */
	for (int i = 0; i < 64 && signals_take(SIGNALS_ALL, &info, wait) > 0;
	     i++)
		wait = 0;

	const int64_t now = duration_now();

	run->watchers.front_is_lost = !supervisor_has_front(run);
	/* Before the deaths: a key that ended the target cancels nothing. */
	take_orders(run, now);
	if (fds[1].revents != 0) {
		(void)close(run->parent_fd);
		run->parent_fd = -1;
	}
	return now;
}

/* --- the tree ------------------------------------------------------------- */

void
supervisor_reap(struct run *run, int64_t now)
{
	struct target *const target = run->target;
	siginfo_t end;

	if (run->tree.target == 0 || target->has_exited ||
	    wait_peek(run->tree.target, WEXITED | WNOWAIT, &end) <= 0) {
		tree_reap(&run->tree);
		return;
	}
	target->exited_by_itself = run->state == STATE_RUNNING;
	target->dumped_core = end.si_code == CLD_DUMPED;
	target->outcome =
	    (struct outcome){ end.si_code == CLD_EXITED ? OUTCOME_EXIT
		                                        : OUTCOME_SIGNAL,
		              end.si_status };
	target->has_exited = true;
	/* Others may wait until its PID is gone. Without /proc, its group is
	 * all that can be signalled, and needs the PID. */
	if (procfs_self() == getpid())
		run->tree.target = 0;
	tree_reap(&run->tree);
	resume_with_target(run, now);
	output_note_exit(&run->output);
	if (run->state == STATE_STOPPING)
		clocks_bound_stop(run, now);
}

/* A process that was forked while the first signal was sent may have missed it.
 * When its parent dies, it comes to this process; but no SIGCHLD tells of that,
 * unless the parent was a child of this process, too. So in a stop we look a
 * little after each wake-up, and at intervals that grow. */
void
supervisor_look_at_children(struct run *run, int64_t now)
{
	int64_t *const due = &run->due[CLOCK_ORPHANS];
	const int64_t age = now - run->tree.signalled_at;

	supervisor_reap(run, now);
	if (run->state != STATE_STOPPING)
		return;
	/* SIGKILL does not wait for a list of 2,000 busy children. */
	if (now >= *due && now < run->due[CLOCK_KILL]) {
		(void)tree_signal_again(&run->tree, run->due[CLOCK_KILL]);

		const int64_t end = duration_now();

		/* As long as a look takes, there is none. */
		run->next_look = end + (end - now) + ORPHANS_DELAY;
		*due = end + (age < ORPHANS_INTERVAL ? age : ORPHANS_INTERVAL);
	} else if (*due > now + ORPHANS_DELAY) {
		*due = now + ORPHANS_DELAY;
	}
	if (*due < run->next_look)
		*due = run->next_look;
}
