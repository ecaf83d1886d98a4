/* The process that the caller sees: it takes signals, and ends as told. */
#include "front.h"

#include <sys/wait.h>

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../watchdog.h"
#include "children.h"
#include "console.h"
#include "descriptors.h"
#include "duration.h"
#include "helper.h"
#include "message.h"
#include "procfs.h"
#include "settle.h"
#include "signals.h"
#include "supervisor.h"
#include "target.h"
#include "testament.h"

#define MOMENTS 200 /* that dying helpers are waited for */

/* Passes SIGNAL on, and with it who sent it. It goes to a child not yet reaped,
 * so the PID is its own. */
static void
relay(const struct run *run, int signal, pid_t sender)
{
	const union sigval value = { .sival_int = sender };

	/* EAGAIN: RLIMIT_SIGPENDING, which kill(2) does not know. */
	if (sigqueue(run->supervisor, signal, value) == -1)
		(void)kill(run->supervisor, signal);
}

/* Stops, as the terminal wants it, until it is continued. */
static void
stop(struct run *run, int signal)
{
	const bool is_terminals = signal_is_terminal_stop(signal);

	console_release(run);
	signal_stop_by(is_terminals ? signal : SIGTSTP);
	console_take(run);
	/* The SIGCONT that ended the stop is pending, and will be passed on.
	 * If there is none, we are in an orphaned process group, which no
	 * terminal stops: then the tree must go on too, but for a SIGSTOP. */
	if (is_terminals && !signal_is_pending(SIGCONT))
		relay(run, SIGCONT, run->front);
}

static bool
is_order_to_stop(const struct run *run, const siginfo_t *info)
{
	return info->si_signo == SIGNAL_TO_STOP && info->si_code == SI_QUEUE &&
	       info->si_pid == run->supervisor;
}

/* A SIGCONT undoes the stops that came before it, as the kernel has it for its
 * own: an order that waited while we were stopped ourselves is void. */
static void
void_orders_to_stop(const struct run *run)
{
	siginfo_t info;

	while (signals_take(SIGNAL_TO_STOP, &info)) {
		if (!is_order_to_stop(run, &info))
			relay(run, SIGNAL_TO_STOP, info.si_pid);
	}
}

static void
pass_on(struct run *run, const siginfo_t *info)
{
	const int signal = info->si_signo;

	if (signal == SIGWINCH)
		output_resize(run);
	/* A relay tells those again who were told of a new size too early. */
	if (helper_is(&run->tree, info->si_pid))
		return;

	if (signal_is_ignored(signal) ||
	    signal_is_by_write(signal, info->si_pid))
		return;
	if (is_order_to_stop(run, info)) {
		stop(run, info->si_value.sival_int);
		return;
	}
	if (signal == SIGCONT)
		void_orders_to_stop(run);
	if (run->shares_group && info->si_code == SI_KERNEL &&
	    signal_is_terminals(signal))
		return; /* the target has it already */

	relay(run, signal, info->si_pid);
	if (signal_is_terminal_stop(signal) && !run->shares_group)
		stop(run, signal);
}

/* Passes on what comes, until it is a SIGCHLD. A failure (EINTR, at a SIGCONT
 * after a SIGSTOP; or a filter that forbids the call) may stand for one. */
static void
pass_on_until_child(struct run *run)
{
	const struct timespec moment = { .tv_nsec = MILLISECOND };
	siginfo_t info;
	int signal;

	while ((signal = signals_wait(&info)) != SIGCHLD && signal != -1)
		pass_on(run, &info);
	if (signal == -1)
		(void)nanosleep(&moment, NULL);
}

/* Whether the supervisor is; one that is merely stopped is continued. */
static bool
supervisor_is_dead(const struct run *run, bool *was_killed)
{
	siginfo_t info;
	pid_t child;

	*was_killed = true; /* if it is not known */

	while ((child = children_look(run->supervisor, WEXITED | WSTOPPED,
	                              &info)) == run->supervisor) {
		*was_killed = info.si_code != CLD_EXITED;
		if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
			return true;
		/* Not relayed: it is for the supervisor itself. */
		(void)kill(run->supervisor, SIGCONT);
	}
	return child == CHILD_NONE_LEFT;
}

/*
 * Reaps the other children there can be: as PID 1, or after an exec without a
 * fork. Returns whether the target is one of them; then the supervisor is
 * dying, and the target's status is still wanted.
 */
static bool
target_is_ours(struct run *run, struct testament *testament)
{
	siginfo_t info;
	pid_t child;

	helper_keep_going(&run->tree);
	while ((child = children_look(ANY_CHILD, WEXITED | WNOWAIT, &info)) >
	       0) {
		testament_read(run, testament);
		if (child == testament->target)
			return true;
		if (child == run->supervisor)
			return false; /* its own SIGCHLD is still to come */
		proctree_reap_child(&run->tree, child);
		output_note_death(run, child);
	}
	return false;
}

/* Makes the front what the supervisor was, as far as it is needed. */
static void
prepare_to_take_over(struct run *run, const struct testament *testament)
{
	run->is_front = true;
	target_note(run, testament->target);
	/* Unknown: it was never forked, or has died with the supervisor. */
	run->target_exited = testament->target == 0;
	run->tree.callers_session = getsid(0);
	run->signal_fd = signals_open(); /* without: it wakes up by the clock */
	(void)close(run->lifeline[1]);
	run->lifeline[1] = -1;
}

/* Whether PID has the name that a supervisor and its helpers have. */
static bool
is_named(pid_t pid)
{
	char name[sizeof(SUPERVISOR_NAME) + 1];

	return procfs_read(pid, "comm", name, sizeof(name)) > 0 &&
	       (strcmp(name, SUPERVISOR_NAME "\n") == 0 ||
	        strcmp(name, SUPERVISOR_STOPPING "\n") == 0);
}

/* Whether there is anybody below us who should not be there. Survivors that are
 * let go should. */
static bool
helper_is_left(struct run *run)
{
	const struct process_list *const list = &run->tree.list;

	proctree_read(&run->tree);
	if (run->options.survivors != SURVIVORS_LEAVE)
		return list->count > 0;
	for (size_t i = 0; i < list->count; i++) {
		if (is_named(list->entries[i].pid))
			return true;
	}
	return false;
}

/* The helpers of a supervisor that was killed die with it, in a moment, and
 * have files locked until then. */
static void
await_helpers(struct run *run)
{
	const struct timespec moment = { .tv_nsec = MILLISECOND };

	for (int i = 0; i < MOMENTS && helper_is_left(run); i++)
		(void)nanosleep(&moment, NULL);
}

bool
front_watch(struct run *run, struct outcome *verdict)
{
	int keep[2 + OUTPUT_FDS + ESTATE_FDS] = { run->lifeline[1],
		                                  run->testament[0] };
	struct testament testament = { .target = 0 };
	bool was_killed;

	output_keep(run, &keep[2]);
	settle_keep(run, &keep[2 + OUTPUT_FDS]);
	/* The supervisor first: until the target is on its way, what there is
	 * to do here can wait. */
	(void)sched_yield();
	descriptors_release(run->null_fd, keep, sizeof(keep) / sizeof(keep[0]));
	run->null_fd = -1;
	run->lifeline[0] = -1;
	run->testament[1] = -1;
	run->caller_fd = -1;

	do
		pass_on_until_child(run);
	while (!supervisor_is_dead(run, &was_killed) &&
	       !target_is_ours(run, &testament));

	testament_read(run, &testament);
	if (testament.exec_errno != 0)
		message(
		    run->options.is_timeout ? "failed to run command '%s': %s"
		                            : "cannot run '%s': %s",
		    run->options.command[0], strerror(testament.exec_errno));
	*verdict = testament.verdict;
	run->stop = testament.stop;
	if (verdict->kind != OUTCOME_UNKNOWN) {
		if (was_killed)
			await_helpers(run);
		settle_for_supervisor(run);
		return true;
	}
	prepare_to_take_over(run, &testament);
	return false;
}

_Noreturn void
front_end(struct outcome verdict)
{
	if (verdict.kind == OUTCOME_SIGNAL)
		signal_die_by(verdict.value);
	_exit(verdict.value);
}
