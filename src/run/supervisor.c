/* What the supervisor does between two decisions: it sleeps, reaps, forwards
 * signals and kills. */
#include "run/supervisor.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/helper.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/signals.h"
#include "proc/treekill.h"
#include "proc/wait.h"
#include "run/forward.h"
#include "run/heartbeat.h"
#include "run/jobcontrol.h"
#include "run/output_watch.h"
#include "run/report.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/target.h"

#define LAST_BOUND          (5 * SECOND)  /* after the last newcomer */
#define LAST_LOOK           SECOND        /* before the end of that */
#define STORM_BOUND         (60 * SECOND) /* in all, about */
#define SWEEP_BOUND         SECOND
#define SWEEP_PAUSE_FIRST   MILLISECOND
#define SWEEP_PAUSE_LAST    (64 * MILLISECOND)
#define RESTLESS_IS_STORM   3
#define REAP_INTERVAL       (100 * MILLISECOND)
#define PAUSE_AFTER_FAILURE MILLISECOND
#define TRACER_TIME         (SECOND / 2)
#define EMPTY_READINGS      5
#define ORPHANS_GRACE       (5 * SECOND)

/* What the supervisor polls. */
enum { SIGNALS, LIFELINE, PARENT, NOTICES };

int
supervisor_prepare(struct run *run)
{
	run->watchers.supervisor = getpid();
	if (getppid() == 0)
		run->watchers.front = 0; /* in another PID namespace */
	/* Strangers are children of the front. */
	run->tree.root = run->watchers.supervisor;
	run->tree.stranger_count = 0;
	run->tree.has_strangers = false;

	/* Before the target puts the run on record: --list looks for this name.
	 * The target has the name too, until execve(2). */
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* A stopped supervisor is continued when its front is killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* No process but the front may hold the lifeline's write end. */
	(void)close(run->watchers.lifeline[1]);
	run->watchers.lifeline[1] = -1;

	run->tree.callers_session = getsid(0);
	if (run->target.shares_group)
		run->job.group = getpgrp();
	else
		(void)setsid(); /* a new process leads no process group, so this
		                 * never fails */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
	    output_lead(&run->output) == -1)
		return -1;
	run->watchers.signal_fd = signals_open();
	return run->watchers.signal_fd == -1 ? -1 : 0;
}

void
supervisor_detach(struct run *run)
{
	int keep[] = {
		[OUTPUT_FDS + RESOURCE_FDS] = run->tty.fd,
		run->watchers.lifeline[0],
		run->watchers.statuspipe[1],
		run->parent.fd,
		run->watchers.signal_fd,
	};

	if (run->target.shares_group)
		(void)setsid(); /* the target stays in the caller's session */
	output_watch_note_output(run);
	output_keep(&run->output, keep);
	resources_keep(run, &keep[OUTPUT_FDS]);
	fds_release(run->watchers.null_fd, keep,
	            sizeof(keep) / sizeof(keep[0]));
	run->watchers.null_fd = -1;
	run->watchers.statuspipe[0] = -1;
}

static void
sleep_until(struct pollfd fds[], nfds_t count, int64_t deadline)
{
	int64_t ns = deadline == NEVER ? 0 : deadline - duration_now();

	if (ns < 0)
		ns = 0;

	const struct timespec left = { ns / SECOND, ns % SECOND };

	if (ppoll(fds, count, deadline == NEVER ? NULL : &left, NULL) != -1)
		return;

	/* ENOMEM, say. Signals and notices can still be read; the pause keeps
	 * supervise() from spinning. */
	duration_sleep(PAUSE_AFTER_FAILURE);
	fds[SIGNALS].revents = POLLIN;
	fds[NOTICES].revents = fds[NOTICES].fd == -1 ? 0 : POLLIN;
}

/* Whether *FD, a pipe or a pidfd, is at its end. If so, closes it, as each
 * later poll(2) would return at once. */
static bool
is_at_end(const struct pollfd *polled, int *fd)
{
	if (polled->revents == 0)
		return false;
	(void)close(*fd);
	*fd = -1;
	return true;
}

void
supervisor_wait(struct run *run, int64_t deadline, struct event *event)
{
	struct pollfd fds[] = {
		[SIGNALS] = { .fd = run->watchers.signal_fd, .events = POLLIN },
		[LIFELINE] = { .fd = run->watchers.lifeline[0],
		               .events = POLLIN },
		[PARENT] = { .fd = run->parent.fd, .events = POLLIN },
		[NOTICES] = { .fd = run->output.is_open
		                        ? run->output.notify_pipe[0]
		                        : -1,
		              .events = POLLIN },
	};
	struct signalfd_siginfo info;

	sleep_until(fds, sizeof(fds) / sizeof(fds[0]), deadline);

	*event = (struct event){ .now = duration_now() };
	run->watchers.front_is_lost |=
	    is_at_end(&fds[LIFELINE], &run->watchers.lifeline[0]);
	run->parent.is_lost |= is_at_end(&fds[PARENT], &run->parent.fd);
	if (fds[NOTICES].revents != 0)
		output_read_notices(&run->output);
	if (fds[SIGNALS].revents == 0)
		return;

	if (read(run->watchers.signal_fd, &info, sizeof(info)) ==
	    (ssize_t)sizeof(info)) {
		/* reap_orphans() reaps the helper at this wake-up. */
		if (helper_is_death((int)info.ssi_signo, info.ssi_code))
			return;
		event->signal = (int)info.ssi_signo;
		event->code = info.ssi_code;
		/* The front forwards a signal with the PID of its sender. */
		event->is_forwarded =
		    (pid_t)info.ssi_pid == run->watchers.front &&
		    info.ssi_code == SI_QUEUE;
		event->sender = event->is_forwarded ? (pid_t)info.ssi_int
		                                    : (pid_t)info.ssi_pid;
	} else {
		event->signal = SIGCHLD; /* there may be dead children */
	}
}

/* The target's zombie is kept, and waitid(2) for any child would return it
 * alone. So the CHILD of a SIGCHLD is reaped by its PID. A SIGCHLD can stand
 * for many (signal(7)): so all children are reaped too, but seldom, as that
 * costs as much as there are children. */
static void
reap_behind_target(struct run *run, pid_t child, int64_t now)
{
	if (child > 0 && child != run->target.pid)
		proctree_reap_child(&run->tree, child);
	if (now - run->sweep.reaped_at < REAP_INTERVAL)
		return;
	proctree_reap(&run->tree, run->target.pid);
	run->sweep.reaped_at = duration_now();
}

/* Reaps all dead children but the target, whose zombie keeps its PID and
 * process group ID from being given to another process. CHILD is the child that
 * a SIGCHLD named, or 0. */
static void
reap_orphans(struct run *run, pid_t child, int64_t now)
{
	siginfo_t info;

	while (!run->target.has_exited) {
		const pid_t dead =
		    wait_peek(ANY_CHILD, WEXITED | WNOWAIT, &info);

		if (dead == CHILD_NONE_READY || dead == CHILD_UNKNOWN)
			return;
		if (dead != run->target.pid && dead != CHILD_NONE_LEFT) {
			proctree_reap_child(&run->tree, dead);
			continue;
		}
		/* CHILD_NONE_LEFT: the target's status is lost. */
		target_note_exit(&run->target,
		                 dead == run->target.pid ? &info : NULL,
		                 run->state == STATE_RUNNING);
		jobcontrol_end(run, duration_now());
		output_note_exit(&run->output);
		if (run->state == STATE_STOPPING)
			supervisor_set_kill_timer(run, now);
		return;
	}
	reap_behind_target(run, child, now);
}

/* A list proves less than waitid(2): it may miss a chain of processes of which
 * each forks the next and exits. So the list is read more than once. */
static bool
lists_are_empty(struct proctree *tree)
{
	for (int i = 0; i < EMPTY_READINGS; i++) {
		proctree_read(tree);
		if (tree->list.count > 0 || tree->is_partial)
			return false;
	}
	return true;
}

/* waitid(2) proves that the tree is empty, and is all that a fast end costs. */
static bool
tree_is_empty(struct run *run)
{
	struct proctree *const tree = &run->tree;

	if (!wait_has_living(ANY_CHILD))
		return true;
	/* The child that is alive may be a stranger: parent.c. */
	return tree->has_strangers && lists_are_empty(tree);
}

static int
visit_to_find_traced(pid_t pid, void *context)
{
	struct run *const run = context;
	struct procfs_status status;

	if (procfs_read_status(pid, &status) == 0 && status.state == 'Z' &&
	    status.parent == run->tree.root && status.tracer != 0) {
		run->sweep.traced = pid;
		run->sweep.tracer = status.tracer;
	}
	return 0;
}

/* Looks twice: strace(1) lets a death through to the parent soon. */
bool
supervisor_finds_tracer(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			duration_sleep(TRACER_TIME);
		run->sweep.tracer = 0;
		if (!lists_are_empty(&run->tree))
			return false;
		(void)procfs_visit_all(visit_to_find_traced, run);
		if (run->sweep.tracer == 0)
			return false;
	}
	/* The target's death may not be noted yet: the kernel gives a
	 * terminating signal before SIGCHLD (next_signal(), by number), and
	 * this stop waits for no SIGCHLD. */
	reap_orphans(run, 0, duration_now());
	return true;
}

/* Whether a process that has got SIGKILL waits only for a processor. */
static bool
tree_is_dying(const struct proctree *tree)
{
	for (size_t i = 0; i < tree->list.count; i++) {
		const struct process *const process = &tree->list.entries[i];

		if (process->refused == 0 && procfs_is_runnable(process->pid))
			return true;
	}
	return false;
}

/* One round of SIGKILL. The next round is due at once after newcomers, as more
 * processes may be forking. */
static void
sweep(struct run *run, int64_t now)
{
	int64_t *const last = &run->timers.due[TIMER_LAST];
	/* Beside a storm, the whole tree would take too long to read. A quiet
	 * sweep may only have missed what is below processes in state D. */
	const int64_t until =
	    run->sweep.pause == 0 ? duration_add(now, SWEEP_BOUND) : NEVER;
	const size_t newcomers = treekill_sweep(
	    &run->tree, until, run->sweep.restless >= RESTLESS_IS_STORM);
	/* The time from here on: a storm may take seconds. */
	const int64_t after = duration_now();

	report_note_kill(run, newcomers);
	run->sweep.restless = newcomers > 0 ? run->sweep.restless + 1 : 0;
	run->sweep.pause =
	    newcomers > 0 ? 0 : 2 * run->sweep.pause + SWEEP_PAUSE_FIRST;
	if (run->sweep.pause > SWEEP_PAUSE_LAST)
		run->sweep.pause = SWEEP_PAUSE_LAST;
	/* A tree that still forks, or waits for a processor, can be killed. */
	if ((newcomers > 0 ||
	     (*last - after < LAST_LOOK && tree_is_dying(&run->tree))) &&
	    *last < run->timers.due[TIMER_STORM])
		*last = duration_add(after, LAST_BOUND);
	reap_orphans(run, 0, now);
	if (newcomers == 0 && !run->tree.is_partial &&
	    wait_has_living(ANY_CHILD) && supervisor_finds_tracer(run))
		*last = now; /* the decision still has that time */
	run->timers.due[TIMER_SWEEP] = duration_add(now, run->sweep.pause);
}

void
supervisor_attend(struct run *run, const struct event *event)
{
	const int64_t now = event->now;

	/* Without a signal, a timer may be due: a command that exited just in
	 * time has not timed out. */
	if (event->signal == SIGCHLD || event->signal == 0) {
		reap_orphans(run, event->signal == SIGCHLD ? event->sender : 0,
		             now);
		jobcontrol_follow(run, now);
	} else {
		forward_signal(run, event);
	}
	if (timers_is_due(&run->timers, TIMER_WAKE, now))
		jobcontrol_wake(run, now);
	if (run->target.has_exited && !run->tree_is_empty)
		run->tree_is_empty = tree_is_empty(run);
	output_watch_update(run, now);
	heartbeat_attend(run, now);
	if (run->state == STATE_KILLING && !run->tree_is_empty &&
	    timers_is_due(&run->timers, TIMER_SWEEP, now))
		sweep(run, now);
}

void
supervisor_begin_stop(struct run *run, int64_t now)
{
	priority_take(PRIORITY_BRIEF);
	timers_resume(&run->timers, now);
	if (!run->watchers.is_front)
		(void)prctl(PR_SET_NAME, SUPERVISOR_STOPPING, 0, 0, 0);
}

void
supervisor_set_kill_timer(struct run *run, int64_t now)
{
	int64_t *const kill_at = &run->timers.due[TIMER_KILL];

	if (*kill_at == NEVER)
		*kill_at = duration_add(now, run->options.kill_after);

	/* timeout(1) without -k waits for its command, but only for that. */
	if (run->options.is_timeout && run->target.has_exited &&
	    *kill_at > now + ORPHANS_GRACE)
		*kill_at = now + ORPHANS_GRACE;
}

void
supervisor_start_killing(struct run *run, int64_t now)
{
	priority_take(PRIORITY_LASTING);
	run->timers.due[TIMER_LAST] = duration_add(now, LAST_BOUND);
	run->timers.due[TIMER_STORM] = duration_add(now, STORM_BOUND);
	sweep(run, now);
}
