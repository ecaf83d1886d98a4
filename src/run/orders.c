/* Orders: what the signals that come to a watcher ask of the run. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "proc/signals.h"
#include "run/run.h"

/* A signal to a process and to its group comes to a watcher twice, as from
 * timeout(1), or once more from a launcher that forwards it. */
#define COPY_TIME    250 /* milliseconds */
#define COPY_WAITS   50  /* of 1 ms each, for a copy to the supervisor */
#define SENDER_WIDTH 60  /* of its command line */
#define KEYS         (SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT))

/* A signal to a group with a run within a run comes to the inner run twice: at
 * once, and when the outer run has passed it on. Beside busy processes that
 * takes more than COPY_TIME. */
#define OUTER_COPY_TIME 2000 /* milliseconds */

/* Counts SIGNAL, unless it is a copy: one was counted, or has reached the
 * target's job, just before. Returns whether this one is counted. */
static bool
count_unless_copy(struct facts *facts, int signal)
{
	atomic_uint *const counted = &facts->counted_ms[signal];
	unsigned before = *counted;

	/* Of two watchers that do this at once, one has the copy. */
	return !duration_is_recent(before, COPY_TIME) &&
	       atomic_compare_exchange_strong(counted, &before,
	                                      duration_stamp());
}

/* systemd(1) ends a session by SIGTERM and SIGHUP, and the terminal sends a
 * SIGHUP, too: so that is neither a second signal nor a third. */
static void
count_cancel(struct facts *facts, int signal)
{
	if (facts->cancels == 0 || signal != SIGHUP)
		facts->cancels++;
}

void
order_give(struct facts *facts, int signal, bool is_for_job, bool is_for_group)
{
	/* SIGCONT drops stops that wait: prepare_signal(), kernel/signal.c. But
	 * a stop drops no ordered SIGCONT, as that has continued the front; the
	 * stop is obeyed last, as its number is higher (but not on MIPS). */
	if (signal == SIGCONT)
		facts->orders[SIGTSTP] = facts->orders[SIGTTIN] =
		    facts->orders[SIGTTOU] = 0;
	facts->orders[signal] |= ORDER_GIVEN |
	                         (is_for_job ? ORDER_FOR_JOB : 0U) |
	                         (is_for_group ? ORDER_FOR_GROUP : 0U);
}

bool
order_is_reload(const struct run *run, int signal)
{
	const bool is_for_target =
	    signal_is_ignored(signal)
	        ? !run->options->drops_ignored
	        : signal == SIGHUP && !run->options->hup_cancels;

	return is_for_target && !run->target->has_exited &&
	       run->facts->cancels == 0;
}

static bool
is_of_run(const struct run *run, pid_t pid)
{
	return pid > 0 &&
	       (pid == run->target->pid ||
	        (procfs_is_ours() && procfs_descends(pid, run->supervisor)));
}

/* Whether INFO is of a key that a front of another run has passed on. */
static bool
is_passed_key(const struct run *run, const siginfo_t *info)
{
	return (SIGNAL_BIT(info->si_signo) & KEYS) != 0 &&
	       getpgid(info->si_pid) == run->callers_group &&
	       procfs_has_our_program(info->si_pid);
}

/* Notes at once who has sent the signal of INFO, as a sender may exit soon; but
 * not after a cancel. */
static void
note_sender(struct run *run, const siginfo_t *info)
{
	struct sender *const sender = &run->facts->cancelled_by;
	struct strbuf line = { .text = sender->command,
		               .size = sizeof(sender->command) };
	const pid_t pid = info->si_pid; /* 0: of the kernel */
	/* The /proc of another PID namespace shows a stranger by that PID. */
	const pid_t shown = procfs_is_ours() ? pid : 0;

	if (run->facts->cancels > 0)
		return;
	sender->is_outer = procfs_name_begins(shown, SUPERVISOR_NAME);
	sender->is_systemd = procfs_name_begins(shown, "systemd");
	sender->signal = info->si_signo;
	sender->pid = pid;
	sender->is_told = info->si_code != SI_KERNEL &&
	                  (pid == 0 || pid != run->caller) &&
	                  !is_passed_key(run, info);
	/* Before is_of_run(): a sender that exits keeps its parent. */
	cmdline_add(&line, shown, SENDER_WIDTH);
	if (strcmp(sender->command, "?") == 0)
		*sender->command = '\0';
	sender->is_of_run = is_of_run(run, pid);
}

bool
order_came_to_all(struct supervisor *self)
{
	const struct sender *const by = &self->run->facts->cancelled_by;
	const pid_t *const sender = &self->senders[by->signal];
	siginfo_t info;

	if (!by->is_systemd)
		return false;
	for (int i = 0; i < COPY_WAITS && *sender != by->pid; i++) {
		duration_sleep(MILLISECOND);
		if (signals_take(SIGNAL_BIT(by->signal), &info) > 0)
			(void)order_take_own_cancel(self, &info); /* a copy */
	}
	return *sender == by->pid;
}

bool
target_is_in_job(const struct run *run)
{
	return run->shares_group && !run->target->has_exited &&
	       getpgid(run->target->pid) == run->callers_group;
}

bool
target_may_be_reaped(const struct run *run)
{
	return run->target->has_exited && procfs_is_ours();
}

/* Whether the signal of INFO was for the whole job of caller and target: from
 * the terminal, from a process of the tree ("kill 0"), or a key that the front
 * of another run of the job has passed on. */
static bool
reaches_job(const struct run *run, const siginfo_t *info)
{
	const uint64_t bit = SIGNAL_BIT(info->si_signo);

	if (!run->shares_group)
		return false;
	/* A hang-up comes to the leader of the session, which may be the front,
	 * alone. SIGALRM of an inherited timer is SI_KERNEL, too. */
	if (info->si_code == SI_KERNEL)
		return (bit & SIGNALS_OF_TERMINAL & ~SIGNAL_BIT(SIGHUP)) != 0;
	return is_of_run(run, info->si_pid) || is_passed_key(run, info);
}

/* Whether SENDER is a shell with job control, which signals whole groups: at
 * its own hang-up, say. An outer run's supervisor leads a session, too. */
static bool
is_of_shell(const struct run *run, pid_t sender)
{
	return sender == getsid(0) && getpgid(sender) != run->callers_group &&
	       !procfs_name_begins(sender, SUPERVISOR_NAME);
}

/* Returns whether the signal of INFO, as a key, has reached the target, which
 * may have ended of it just now. If so, notes the time: what follows soon is a
 * copy. */
static bool
note_key_of_target(const struct run *run, const siginfo_t *info)
{
	const struct target *const target = run->target;
	/* A key that comes before its start cancels the run. But the target may
	 * send one before the supervisor has noted its start. */
	const bool has_reached =
	    (run->facts->output.started != 0 || is_of_run(run, info->si_pid)) &&
	    (target->has_exited
	         ? duration_is_recent(target->ended_ms, COPY_TIME)
	         : target_is_in_job(run));

	if (has_reached)
		run->facts->counted_ms[info->si_signo] = duration_stamp();
	return has_reached;
}

bool
order_pass_on(struct run *run, const siginfo_t *info)
{
	const int signal = info->si_signo;
	const uint64_t bit = SIGNAL_BIT(signal);
	const bool is_terminating = (bit & SIGNALS_TERMINATING) != 0;
	const bool is_job_control =
	    (bit & (SIGNALS_OF_STOP | SIGNAL_BIT(SIGCONT))) != 0;
	const bool is_of_kernel = info->si_code == SI_KERNEL;
	/* An outer run's supervisor that ends its run sends no reload. */
	const bool is_reload =
	    order_is_reload(run, signal) &&
	    !procfs_name_begins(info->si_pid, SUPERVISOR_STOPPING);
	struct facts *const facts = run->facts;

	/* This process has sent it: SIGPIPE of a message; or a key to the whole
	 * job, where a launcher may forward it. */
	if (info->si_pid == getpid()) {
		facts->counted_ms[signal] = duration_stamp();
		return false;
	}
	if ((signal_is_ignored(signal) && (is_of_kernel || !is_reload)) ||
	    (is_of_kernel && (bit & SIGNALS_OF_CPU_TIME) != 0) ||
	    (info->si_pid == run->supervisor && info->si_pid != 0))
		return false;

	/* The supervisor of an outer run signals that of this run, too: what
	 * comes here once more is its copy; or that of a caller between the
	 * two runs, as in "wdrun timeout 60 wdrun CMD". */
	if (is_terminating && !is_reload && facts->phase != PHASE_END &&
	    duration_is_recent(facts->counted_ms[signal], OUTER_COPY_TIME) &&
	    ((facts->cancelled_by.is_outer && info->si_pid == run->caller) ||
	     procfs_name_begins(info->si_pid, SUPERVISOR_NAME)))
		return false;

	const bool is_for_job = reaches_job(run, info);
	const bool is_for_group =
	    is_of_kernel || is_of_shell(run, info->si_pid);
	const bool cancels = is_terminating && !run->options->passes_on &&
	                     (is_of_kernel || !is_reload);

	if (is_for_job && !is_job_control && note_key_of_target(run, info))
		return false;

	/* When an outer run stops, its signal comes to both watchers. */
	const bool is_new = is_job_control || count_unless_copy(facts, signal);

	if (!is_new && !is_of_kernel && (is_terminating || facts->cancels > 0))
		return false;
	if (is_terminating)
		note_sender(run, info);
	if (cancels)
		count_cancel(facts, signal);
	if (signal == SIGCONT)
		facts->undone_stop = 0;
	order_give(facts, signal, is_for_job, is_for_group);
	return true;
}

void
order_take_early(struct run *run)
{
	siginfo_t info;
	int signal;

	while ((signal = signals_take(KEYS, &info)) > 0) {
		if (!duration_is_recent(run->facts->counted_ms[signal],
		                        COPY_TIME))
			(void)order_pass_on(run, &info);
	}
}

bool
order_take_own_cancel(struct supervisor *self, const siginfo_t *info)
{
	struct run *const run = self->run;
	const int signal = info->si_signo;
	const bool is_terminating =
	    (SIGNAL_BIT(signal) & SIGNALS_TERMINATING) != 0;
	struct facts *const facts = run->facts;

	self->senders[signal] = info->si_pid;
	if (info->si_code > 0 || info->si_pid == run->front ||
	    info->si_pid == getpid() || signal == SIGCHLD || signal == SIGCONT)
		return false;

	const bool is_outer =
	    procfs_name_begins(info->si_pid, SUPERVISOR_NAME) ||
	    procfs_has_our_program(info->si_pid);

	if (!is_outer && (!is_terminating || signal_is_ignored(signal)))
		return false;

	const atomic_uint *const counted = &facts->counted_ms[signal];
	unsigned *const last_of_outer = &self->last_of_outer_ms[signal];
	/* Of each signal that was counted here, an outer run sends a copy. */
	const bool is_late = is_outer && *counted != *last_of_outer &&
	                     duration_is_recent(*counted, OUTER_COPY_TIME);
	const bool is_new = !is_late && count_unless_copy(facts, signal);

	if (is_outer)
		*last_of_outer = *counted;
	/* CANCELS may still be 0: the front marks a signal, reads its sender,
	 * and then counts the cancel. An outer run's stop is news only if the
	 * front has counted a reload, or a SIGUSR1, say. */
	if (!is_new &&
	    (!is_outer || run->options->passes_on || facts->cancels > 0 ||
	     (is_terminating && !order_is_reload(run, signal))))
		return false;
	note_sender(run, info);
	if (!is_outer && order_is_reload(run, signal)) {
		order_give(facts, signal, false, false); /* taken at once */
		return false;
	}
	self->tree.group_has_signal |= !is_new;
	if (!run->options->passes_on)
		count_cancel(facts, signal);
	return true;
}
