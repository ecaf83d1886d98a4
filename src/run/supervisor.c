/* What the supervisor does between two decisions: it sleeps, takes orders,
 * reaps and looks. */
#include "run/supervisor.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/text.h"
#include "proc/children.h"
#include "proc/procfs.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "run/decide.h"
#include "run/job.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/target.h"
#include "run/tell.h"

#define SAMPLE_INTERVAL (250 * MILLISECOND)
#define REAP_DELAY      (10 * MILLISECOND)
#define ANSWER_BOUND    SECOND
#define ORDERS_MAX      4 /* read at a time */

/* What the supervisor polls. */
enum { SIGNALS, ORDERS, PARENT };

int
supervisor_prepare(struct run *run)
{
	struct watchers *const watchers = &run->watchers;

	watchers->supervisor = getpid();
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* A stopped supervisor is continued when its front is killed. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	/* No process but the front may hold the orders' write end. */
	(void)close(watchers->orders[1]);
	watchers->orders[1] = -1;
	if (run->target.shares_group)
		run->job.group = getpgrp();
	else
		(void)setsid(); /* a new process leads no process group, so this
		                 * never fails */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
	    output_lead(&run->output) == -1)
		return -1;
	watchers->signal_fd = signals_open();
	return watchers->signal_fd == -1 ? -1 : 0;
}

/* Notes where the command writes to, as the links of its descriptors name that:
 * who holds it open keeps a reader waiting, and is told. */
static void
note_outputs(struct run *run)
{
	for (int i = 0; i < LOOK_OUTPUTS; i++) {
		char *const link = run->outputs[i];
		int fd = STDOUT_FILENO + i;
		char path[32];

		for (size_t at = 0; at < run->output.count; at++) {
			const struct stream *const stream =
			    &run->output.streams[at];

			if (i == 0 ? stream->is_stdout : stream->is_stderr)
				fd = stream->command_fd;
		}
		(void)snprintf(path, sizeof(path), "self/fd/%d", fd);
		if (readlinkat(procfs_fd(), path, link, LOOK_LINK_SIZE - 1) ==
		        -1 ||
		    (strncmp(link, "pipe:", 5) != 0 &&
		     strncmp(link, "socket:", 7) != 0 &&
		     strncmp(link, "/dev/pts/", 9) != 0))
			*link = '\0'; /* a file keeps nobody waiting */
	}
}

void
supervisor_detach(struct run *run)
{
	struct watchers *const watchers = &run->watchers;
	int keep[OUTPUT_FDS + RESOURCE_FDS + 5] = {
		watchers->orders[0], watchers->news[1], watchers->signal_fd,
		run->parent.fd,      procfs_fd(),
	};

	if (run->target.shares_group)
		(void)setsid(); /* the target stays in the caller's session */
	note_outputs(run);
	output_keep(&run->output, false, &keep[5]);
	resources_keep(run, &keep[5 + OUTPUT_FDS]);
	fds_release(watchers->null_fd, keep, sizeof(keep) / sizeof(keep[0]));
	watchers->null_fd = watchers->news[0] = -1;
}

/* --- the front ------------------------------------------------------------ */

/* Takes all orders that are there. */
static void
take_orders(struct run *run, int64_t now)
{
	struct order orders[ORDERS_MAX];
	ssize_t length;

	do {
		length = read(run->watchers.orders[0], orders, sizeof(orders));
		for (ssize_t i = 0; i < length / (ssize_t)sizeof(orders[0]);
		     i++)
			job_obey(run, &orders[i], now);
	} while (length == (ssize_t)sizeof(orders));
	if (length != 0)
		return;
	/* End-of-file: each later poll(2) would return at once. */
	(void)close(run->watchers.orders[0]);
	run->watchers.orders[0] = -1;
	run->watchers.front_is_lost = true;
}

/* The command's own terminal was hung up, of which the kernel tells only the
 * leader of the session (tty_signal_session_leader()). All other signals to
 * this process only wake it up. */
static void
take_signals(const struct run *run)
{
	struct signalfd_siginfo signals[ORDERS_MAX];
	ssize_t length;

	do {
		length =
		    read(run->watchers.signal_fd, signals, sizeof(signals));
		for (ssize_t i = 0; i < length / (ssize_t)sizeof(signals[0]);
		     i++) {
			if (signals[i].ssi_signo == SIGHUP &&
			    signals[i].ssi_code == SI_KERNEL &&
			    run->output.has_pty)
				target_signal(&run->target, SIGHUP);
		}
	} while (length == (ssize_t)sizeof(signals));
}

int64_t
supervisor_wait(struct run *run, int64_t until)
{
	struct pollfd fds[] = {
		[SIGNALS] = { .fd = run->watchers.signal_fd, .events = POLLIN },
		[ORDERS] = { .fd = run->watchers.orders[0], .events = POLLIN },
		[PARENT] = { .fd = run->parent.fd, .events = POLLIN },
	};
	const int64_t ns = until == NEVER ? 0 : until - duration_now();
	const struct timespec left = { ns > 0 ? ns / SECOND : 0,
		                       ns > 0 ? ns % SECOND : 0 };

	(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]),
	            until == NEVER ? NULL : &left, NULL);

	const int64_t now = duration_now();

	if (fds[SIGNALS].revents != 0)
		take_signals(run);
	/* Before the deaths: a key that has ended the target is for the target,
	 * and cancels nothing. */
	if (fds[ORDERS].revents != 0)
		take_orders(run, now);
	if (fds[PARENT].revents != 0) {
		(void)close(run->parent.fd);
		run->parent.fd = -1;
		run->parent.is_lost = true;
	}
	return now;
}

void
supervisor_continue_front(struct run *run)
{
	const int64_t end = duration_now() + ANSWER_BOUND;
	int64_t now = duration_now();

	while (run->job.front_stops > 0 && !run->watchers.front_is_lost &&
	       now < end) {
		job_continue_front(run, now);
		now = supervisor_wait(run, run->due[CLOCK_CONTINUE]);
	}
}

/* --- the tree ------------------------------------------------------------- */

void
supervisor_reap(struct run *run, int64_t now)
{
	tree_reap(&run->tree);
	if (!run->tree.target_is_dead || run->target.has_exited)
		return;
	target_note_exit(&run->target, &run->tree.end,
	                 run->state == STATE_RUNNING);
	job_end(run, now);
	output_note_exit(&run->output);
	if (run->state == STATE_STOPPING)
		clocks_bound_stop(run, now);
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
look_at_children(struct run *run, int64_t now)
{
	int64_t *const due = &run->due[CLOCK_REAP];
	const int64_t age = now - run->signalled_at;
	const bool is_new_stop = run->state == STATE_STOPPING && age < SECOND;

	if (!run->target.has_exited)
		supervisor_reap(run, now);
	if ((run->target.has_exited || is_new_stop) && *due > now + REAP_DELAY)
		*due = now + REAP_DELAY;
	if (now < *due)
		return;
	*due = NEVER;
	supervisor_reap(run, now);
	if (!is_new_stop)
		return;
	tree_signal_orphans(&run->tree, run->due[CLOCK_KILL]);
	*due = now + (age > MILLISECOND ? age : MILLISECOND);
}

/* What the clocks without a reason ask for. */
static void
attend_clocks(struct run *run, int64_t now)
{
	int64_t *const due = run->due;

	if (now >= due[CLOCK_READY]) {
		due[CLOCK_READY] = NEVER;
		tree_take_priority();
	}
	if (now >= due[CLOCK_CONTINUE])
		job_continue_front(run, now);
	if (run->state == STATE_LINGERING && run->paused_at == NEVER &&
	    (now >= due[CLOCK_SAMPLE] || now >= due[CLOCK_IDLE_AFTER_EXIT])) {
		if (job_is_active(run))
			due[CLOCK_IDLE_AFTER_EXIT] =
			    duration_add(now, run->options.idle_after_exit);
		due[CLOCK_SAMPLE] = duration_add(now, SAMPLE_INTERVAL);
	}
	tell_heartbeat(run, now);
}

void
supervisor_attend(struct run *run, int64_t now)
{
	look_at_children(run, now);
	job_follow(run, now);
	/* waitid(2) proves that the tree is empty, and is all that a fast end
	 * costs. */
	if (run->target.has_exited && !run->tree_is_empty)
		run->tree_is_empty = !wait_has_living(ANY_CHILD);
	if (!run->tree_is_empty)
		attend_clocks(run, now);
}
