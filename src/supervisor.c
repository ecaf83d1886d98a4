/* The supervisor's hands: sleeping, reaping, passing on, sweeping. */
#include "supervisor.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "../watchdog.h"
#include "children.h"
#include "descriptors.h"
#include "duration.h"
#include "heartbeat.h"
#include "heed.h"
#include "jobcontrol.h"
#include "listener.h"
#include "report.h"
#include "settle.h"
#include "signals.h"
#include "timeout_personality.h"
#include "treekill.h"

#define LAST_BOUND          (5 * SECOND)  /* since the last newcomer */
#define STORM_BOUND         (60 * SECOND) /* and in all, about */
#define SAMPLE_INTERVAL     (250 * MILLISECOND)
#define SWEEP_PAUSE_FIRST   MILLISECOND
#define SWEEP_PAUSE_LAST    (64 * MILLISECOND)
#define RESTLESS_IS_STORM   3
#define FREEZE_LIMIT        64
#define REAP_INTERVAL       (100 * MILLISECOND)
#define PAUSE_AFTER_FAILURE MILLISECOND
#define EMPTY_READINGS      5

/* What is waited for. */
enum { SIGNALS, LIFELINE, CALLER, NEWS };

int
supervisor_begin(struct run *run)
{
	/* Its end of the lifeline must be the only one besides the front's,
	 * before there is a process that could inherit another. */
	(void)close(run->lifeline[1]);
	run->lifeline[1] = -1;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		return -1;
	run->signal_fd = signals_open();
	return run->signal_fd == -1 ? -1 : 0;
}

void
supervisor_settle(struct run *run)
{
	int keep[4 + OUTPUT_FDS + ESTATE_FDS] = { run->lifeline[0],
		                                  run->testament[1],
		                                  run->caller_fd,
		                                  run->signal_fd };

	/* killall(1) and pkill(1) go by this name: "pkill -9 wdrun" is not to
	 * find both watchers, but the front alone. */
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* For one that somebody stopped, when the front is killed then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	run->tree.callers_session = getsid(0);
	(void)setsid();
	listener_note_output(run);
	output_keep(run, &keep[4]);
	settle_keep(run, &keep[4 + OUTPUT_FDS]);
	descriptors_release(run->null_fd, keep, sizeof(keep) / sizeof(keep[0]));
	run->null_fd = -1;
	run->testament[0] = -1;
}

static void
sleep_until(struct pollfd fds[], nfds_t count, int64_t deadline)
{
	struct timespec left;
	const struct timespec *timeout = NULL;

	if (deadline != NEVER) {
		const int64_t now = duration_now();
		const int64_t ns = deadline > now ? deadline - now : 0;

		left.tv_sec = ns / SECOND;
		left.tv_nsec = ns % SECOND;
		timeout = &left;
	}
	if (ppoll(fds, count, timeout, NULL) != -1)
		return;

	/* No memory, say. What is there can still be read; not to spin is all
	 * that is left to do about it. */
	const struct timespec pause = { .tv_nsec = PAUSE_AFTER_FAILURE };

	(void)nanosleep(&pause, NULL);
	for (nfds_t i = 0; i < count; i++)
		fds[i].revents = 0;
	fds[SIGNALS].revents = POLLIN;
	fds[NEWS].revents = fds[NEWS].fd == -1 ? 0 : POLLIN;
}

/* Closes *FD, whose end has been seen: it would be seen at each poll. */
static bool
is_lost(const struct pollfd *polled, int *fd)
{
	if (polled->revents == 0)
		return false;
	(void)close(*fd);
	*fd = -1;
	return true;
}

/* Notes who sent what came, also where the front passed it on. */
static void
note_sender(const struct run *run, const struct signalfd_siginfo *info,
            struct news *news)
{
	const pid_t sender = (pid_t)info->ssi_pid;

	news->is_passed_on = sender == run->front && info->ssi_code == SI_QUEUE;
	news->sender = news->is_passed_on ? (pid_t)info->ssi_int : sender;
}

void
supervisor_wait(struct run *run, int64_t deadline, struct news *news)
{
	struct pollfd fds[] = {
		[SIGNALS] = { .fd = run->signal_fd, .events = POLLIN },
		[LIFELINE] = { .fd = run->lifeline[0], .events = POLLIN },
		[CALLER] = { .fd = run->caller_fd, .events = POLLIN },
		[NEWS] = { .fd = run->output.is_open ? run->output.news[0] : -1,
		           .events = POLLIN },
	};
	struct signalfd_siginfo info;

	sleep_until(fds, sizeof(fds) / sizeof(fds[0]), deadline);

	*news = (struct news){ .now = duration_now() };
	run->front_is_lost |= is_lost(&fds[LIFELINE], &run->lifeline[0]);
	run->caller_is_lost |= is_lost(&fds[CALLER], &run->caller_fd);
	if (fds[NEWS].revents != 0)
		output_listen(&run->output);
	if (fds[SIGNALS].revents == 0)
		return;

	if (read(run->signal_fd, &info, sizeof(info)) ==
	    (ssize_t)sizeof(info)) {
		news->signal = (int)info.ssi_signo;
		news->code = info.ssi_code;
		note_sender(run, &info, news);
	} else {
		news->signal = SIGCHLD; /* look at the children, to be sure */
	}
}

static void
note_outcome(struct run *run, const siginfo_t *info)
{
	run->target_outcome = (struct outcome){
		.kind =
		    info->si_code == CLD_EXITED ? OUTCOME_EXIT : OUTCOME_SIGNAL,
		.value = info->si_status,
	};
	run->target_dumped_core = info->si_code == CLD_DUMPED;
}

/*
 * The target's zombie hides all the others from a look for any. The one that
 * SIGCHLD names is reaped; those that it did not name, as one SIGCHLD can stand
 * for many, are looked for among all the children, but not each time: that
 * would cost the square of their number.
 */
static void
reap_behind_target(struct run *run, const struct news *news)
{
	const pid_t child = news->signal == SIGCHLD ? news->sender : 0;

	if (child > 0 && child != run->target)
		proctree_reap_child(&run->tree, child);
	if (news->now - run->reaped_at < REAP_INTERVAL)
		return;
	proctree_reap(&run->tree, run->target);
	run->reaped_at = duration_now();
}

/*
 * Reaps the dead but the target, whose zombie keeps its PID, which is also the
 * number of its group and session, from becoming somebody else's as long as
 * there is anything to be signalled.
 */
static void
reap_orphans(struct run *run, const struct news *news)
{
	siginfo_t info;

	while (!run->target_exited) {
		const pid_t child =
		    children_look(ANY_CHILD, WEXITED | WNOWAIT, &info);

		if (child == CHILD_NONE_READY || child == CHILD_UNKNOWN)
			return;
		if (child != run->target && child != CHILD_NONE_LEFT) {
			proctree_reap_child(&run->tree, child);
			continue;
		}
		run->target_exited = true;
		run->target_left = run->state == STATE_RUNNING;
		/* Where nobody is left, neither is the target; how it ended
		 * will never be known. */
		if (child == run->target)
			note_outcome(run, &info);
		jobcontrol_end(run, duration_now());
		if (run->state == STATE_STOPPING)
			supervisor_set_kill_clock(run, news->now);
		return;
	}
	reap_behind_target(run, news);
}

/*
 * The children are asked first, since that is all that a prompt end costs, and
 * proves it. A list proves less: of a chain of processes, each of which forks
 * the next and exits, it may have been in the wrong place each time. So it is
 * read more than once.
 */
static bool
tree_is_empty(struct run *run)
{
	struct proctree *const tree = &run->tree;

	if (!children_are_alive(ANY_CHILD))
		return true;
	if (!tree->has_strangers && tree->helper_count == 0)
		return false;
	/* There are some who do not count. */
	for (int i = 0; i < EMPTY_READINGS; i++) {
		proctree_read(tree);
		if (tree->list.count > 0 || tree->is_partial)
			return false;
	}
	return true;
}

static bool
is_due_for_sample(const struct run *run, int64_t now)
{
	return run->state == STATE_LINGERING && run->paused_at == NEVER &&
	       run->options.survivors != SURVIVORS_LEAVE &&
	       (now >= run->clocks.sample ||
	        now >= run->clocks.idle_after_exit);
}

static void
look_for_progress(struct run *run, int64_t now)
{
	const uint64_t before = run->activity;

	supervisor_sample(run, now);
	if (run->activity != before)
		run->clocks.idle_after_exit =
		    duration_add(now, run->options.idle_after_exit);
}

/* A round of killing, and when the next one is due. */
static void
sweep(struct run *run, int64_t now)
{
	const size_t newcomers = treekill_sweep(&run->tree);

	report_note_kill(run, newcomers);
	if (newcomers > 0) {
		run->restless_sweeps++;
		run->sweep_pause = 0;
		/* What still forks can be killed, if only not as fast. */
		if (run->clocks.last < run->clocks.storm)
			run->clocks.last = duration_add(now, LAST_BOUND);
	} else {
		run->restless_sweeps = 0;
		run->sweep_pause = run->sweep_pause == 0 ? SWEEP_PAUSE_FIRST
		                                         : 2 * run->sweep_pause;
		if (run->sweep_pause > SWEEP_PAUSE_LAST)
			run->sweep_pause = SWEEP_PAUSE_LAST;
	}
	if (run->restless_sweeps == RESTLESS_IS_STORM) {
		treekill_freeze(&run->tree, FREEZE_LIMIT);
		run->restless_sweeps = 0;
	}
	reap_orphans(run, &(struct news){ .now = now });
	run->clocks.sweep = duration_add(now, run->sweep_pause);
}

void
supervisor_attend(struct run *run, struct news *news)
{
	/* A clock that is due is a reason to look, too: a command which has
	 * just made it is not to be said to be late. */
	if (news->signal == SIGCHLD || news->signal == 0) {
		reap_orphans(run, news);
		if (run->shares_group || run->output.has_keyboard)
			jobcontrol_follow(run, news->now);
	} else {
		heed(run, news);
	}
	if (news->now >= run->clocks.wake)
		jobcontrol_wake(run, news->now);
	if (run->target_exited && !run->tree_is_empty)
		run->tree_is_empty = tree_is_empty(run);
	listener_attend(run, news->now);
	heartbeat_attend(run, news->now);
	if (run->tree_is_empty)
		return;
	if (is_due_for_sample(run, news->now))
		look_for_progress(run, news->now);
	if (run->state == STATE_KILLING && news->now >= run->clocks.sweep)
		sweep(run, news->now);
}

void
supervisor_forward(const struct run *run, int signal)
{
	/* Not known, where the supervisor died before it could name it; and
	 * kill(0) would be for the caller's own group. */
	if (run->target <= 1)
		return;
	if (!run->shares_group && kill(-run->target, signal) == 0)
		return;
	/* Or it has not come to setsid yet. */
	if (!run->target_exited)
		(void)kill(run->target, signal);
}

void
supervisor_signal_tree(struct run *run, int signal)
{
	proctree_read(&run->tree);
	treekill_signal(&run->tree, signal);
}

void
supervisor_sample(struct run *run, int64_t now)
{
	proctree_read(&run->tree);
	run->activity =
	    proctree_activity(&run->tree) + output_sum(&run->output).relayed;
	run->clocks.sample = duration_add(now, SAMPLE_INTERVAL);
}

void
supervisor_show_stopping(const struct run *run)
{
	if (!run->is_front)
		(void)prctl(PR_SET_NAME, SUPERVISOR_STOPPING, 0, 0, 0);
}

void
supervisor_set_kill_clock(struct run *run, int64_t now)
{
	int64_t *const clock = &run->clocks.kill;

	if (*clock == NEVER)
		*clock = duration_add(now, run->options.kill_after);
	if (run->options.is_timeout && run->target_exited &&
	    *clock > now + ORPHANS_GRACE)
		*clock = now + ORPHANS_GRACE;
}

void
supervisor_start_killing(struct run *run, int64_t now)
{
	run->clocks.last = duration_add(now, LAST_BOUND);
	run->clocks.storm = duration_add(now, STORM_BOUND);
	sweep(run, now);
}
