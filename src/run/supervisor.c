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
#include "proc/tree.h"
#include "proc/wait.h"
#include "run/forward.h"
#include "run/heartbeat.h"
#include "run/jobcontrol.h"
#include "run/output_watch.h"
#include "run/report.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/statuspipe.h"
#include "run/target.h"

#define REAP_DELAY          (10 * MILLISECOND)
#define DRAIN_BOUND         (5 * SECOND)
#define PAUSE_AFTER_FAILURE MILLISECOND
#define ORPHANS_GRACE       (5 * SECOND)

/* What the supervisor polls. */
enum { SIGNALS, LIFELINE, PARENT, NOTICES };

int
supervisor_prepare(struct run *run)
{
	run->watchers.supervisor = getpid();
	if (getppid() == 0)
		run->watchers.front = 0; /* in another PID namespace */

	/* Before the target puts the run on record: --list looks for this name.
	 * The target has the name too, until execve(2). */
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* A stopped supervisor is continued when its front is killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* No process but the front may hold the lifeline's write end. */
	(void)close(run->watchers.lifeline[1]);
	run->watchers.lifeline[1] = -1;

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
		procfs_fd(),
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

void
supervisor_tell(const struct run *run, const struct statuspipe *entry)
{
	const struct watchers *const watchers = &run->watchers;

	if (watchers->is_front)
		return;
	statuspipe_send(watchers->statuspipe[1], entry);
	/* A wake-up costs time, which an outcome needs only if the teardown
	 * could hang. The front's PID is its own while it is the parent. */
	if ((entry->is_stopping || run->resources != NULL) &&
	    watchers->front > 0 && getppid() == watchers->front)
		(void)kill(watchers->front, SIGCHLD);
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
		/* helper_run() reaps the helper. */
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

/* Reaps the dead, and notes the death of the target. */
static void
reap(struct run *run, int64_t now)
{
	tree_reap(&run->tree);
	if (!run->tree.target_is_dead || run->target.has_exited)
		return;
	target_note_exit(&run->target, &run->tree.end,
	                 run->state == STATE_RUNNING);
	jobcontrol_end(run, duration_now());
	output_note_exit(&run->output);
	if (run->state == STATE_STOPPING)
		supervisor_set_kill_timer(run, now);
}

/*
 * A child may be dead. Once the target is, its zombie is kept, and a look at
 * the other children costs as much as there are: so it waits a little for more
 * deaths to come, of which one SIGCHLD can stand for many (signal(7)).
 *
 * In the first second of a stop, a process may have become an orphan which its
 * parent started, with the first signal on its way to both. The death of a
 * parent that is not a child of this process sends no signal: so there are
 * looks at growing intervals.
 */
static void
look_at_children(struct run *run, bool has_death, int64_t now)
{
	int64_t *const due = &run->timers.due[TIMER_REAP];
	const int64_t age = now - run->signalled_at;
	const bool is_new_stop = run->state == STATE_STOPPING && age < SECOND;

	if (!run->target.has_exited)
		reap(run, now);
	if (has_death && (run->target.has_exited || is_new_stop) &&
	    *due > now + REAP_DELAY)
		*due = now + REAP_DELAY;
	if (now < *due)
		return;
	*due = NEVER;
	reap(run, now);
	if (!is_new_stop)
		return;
	tree_signal_orphans(&run->tree, run->timers.due[TIMER_KILL]);
	*due = now + (age > MILLISECOND ? age : MILLISECOND);
}

void
supervisor_attend(struct run *run, const struct event *event)
{
	const int64_t now = event->now;

	/* Without a signal, a timer may be due: a command that exited just in
	 * time has not timed out. */
	if (event->signal == SIGCHLD || event->signal == 0) {
		look_at_children(run, event->signal == SIGCHLD, now);
		jobcontrol_follow(run, now);
	} else {
		forward_signal(run, event);
	}
	if (timers_is_due(&run->timers, TIMER_WAKE, now))
		jobcontrol_wake(run, now);
	/* waitid(2) proves that the tree is empty, and is all that a fast end
	 * costs. */
	if (run->target.has_exited && !run->tree_is_empty)
		run->tree_is_empty = !wait_has_living(ANY_CHILD);
	output_watch_update(run, now);
	heartbeat_attend(run, now);
}

void
supervisor_begin_stop(struct run *run, int64_t now)
{
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
supervisor_kill(struct run *run)
{
	/* The front is no subreaper then: what it has as children is not of
	 * the run, and the target has got its PR_SET_PDEATHSIG. */
	run->tree_is_empty =
	    (run->watchers.is_front && run->watchers.has_older_children) ||
	    tree_kill(&run->tree);
	/* So long may the rest of the output take: output_watch.c. */
	run->timers.due[TIMER_KILL] = duration_add(duration_now(), DRAIN_BOUND);
	reap(run, duration_now());
}
