/* What the supervisor does between two decisions: it sleeps, obeys orders,
 * follows the target's stops, reaps and looks. */
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "proc/signals.h"
#include "run/run.h"

#define ORPHANS_DELAY (10 * MILLISECOND)  /* for more deaths */
#define LOOK_INTERVAL (250 * MILLISECOND) /* for orphans, for progress */
#define KEEP_INTERVAL (2 * SECOND)
#define READER_GRACE  SECOND /* see CLOCK_READER, run.h */
#define NICE_LEAST    19     /* to which SCHED_IDLE comes near */
#define KEY_TIME      2000   /* ms, for the answer to a key */
#define RELOAD_TIME   2000   /* ms, in which a command may die of it */
#define SIGNALS_MAX   64     /* in a turn: others may send them for ever */

/* Gives the nice value of this process to its session, as the kernel weighs
 * sessions against each other: sched(7), autogroup. */
static void
pass_nice_on(struct supervisor *self)
{
	/* Not the function of libc, as musl's always fails. */
	const bool is_idle = syscall(SYS_sched_getscheduler, 0) == SCHED_IDLE;
	const int nice = is_idle ? NICE_LEAST : getpriority(PRIO_PROCESS, 0);
	int fd;

	self->due[CLOCK_NICE] = NEVER;
	/* A new session has 0. In a session that the front leads, the value of
	 * a bare command would not weigh against other sessions, either. */
	if (nice == 0 || getsid(self->run->front) == self->run->front)
		return;
	fd = openat(procfs_fd(), "self/autogroup", O_WRONLY | O_CLOEXEC);
	/* Unprivileged processes may do that once in 100 ms, on the whole
	 * machine: proc_sched_autogroup_set_nice(), sched/autogroup.c. */
	if (dprintf(fd, "%d", nice) == -1 && errno == EAGAIN)
		self->due[CLOCK_NICE] =
		    duration_now() + (100 + getpid() % 200) * MILLISECOND;
	fds_close(fd); /* -1: this kernel does not weigh sessions */
}

int
supervisor_start(struct supervisor *self)
{
	struct run *const run = self->run;

	run->supervisor = getpid();
	(void)prctl(PR_SET_NAME, SUPERVISOR_NAME, 0, 0, 0);
	/* pkill -f with the command's words meets the front alone. The last
	 * byte stays 0: get_mm_cmdline(), fs/proc/base.c. */
	memset(run->words, 0, run->words_size);
	(void)snprintf(run->words, run->words_size, SUPERVISOR_NAME);
	/* The front's death wakes this process, also from a stop. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0);
	if (!run->shares_group) {
		(void)setsid(); /* a new process leads no group: never fails */
		pass_nice_on(self);
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1 ||
	    (run->output.has_pty &&
	     ioctl(run->output.fds[STDOUT_FILENO], TIOCSCTTY, 0) == -1))
		return -1;
	order_take_early(run);

	/* Not plain_fork(): to copy page tables and pages costs a tenth of a
	 * start. Until its exec the target has our memory. NOLINTBEGIN(*ork) */
	const pid_t target = vfork();

	run->facts->tree_is_empty = target == -1; /* in both processes */
	if (target == -1)
		return -1;
	if (target == 0)
		target_become(run);
	/* NOLINTEND(*ork) */
	self->tree.target = self->tree.group = target;
	if (run->shares_group)
		(void)setsid(); /* the target stays in the caller's session */
	look_note_streams(&run->facts->look, run->output.fds);
	return 0;
}

static void
signal_front(const struct run *run, int signal)
{
	if (getppid() == run->front) /* else the PID may be another's */
		(void)kill(run->front, signal);
}

/* Stops the front like the target, or continues it, as the caller's shell waits
 * for the front. IS_NEW: the target has just stopped. At a terminal any stop of
 * the target counts, as only that shell can take the terminal back; without
 * one, only a stop signal that has come to the front. Only SIGTSTP stops the
 * clocks: after another stop the command counts as one that hangs. */
static void
follow_stop(struct supervisor *self, bool is_new, int64_t now)
{
	struct run *const run = self->run;
	struct facts *const facts = run->facts;
	const int stop =
	    run->target->has_exited ? self->stop_order : self->target_stop;
	const bool has_terminal = run->output.terminal.fd != -1;
	const bool is_alive = self->state < STATE_STOPPING;
	const bool pauses =
	    stop != 0 && is_alive &&
	    (self->stop_order == SIGTSTP || (stop == SIGTSTP && has_terminal));

	if (!pauses)
		clocks_resume(self, now);
	else if (self->paused_at == NEVER)
		self->paused_at = now;

	const bool is_stop =
	    stop != 0 && (has_terminal || self->stop_order != 0);

	if (is_stop == (facts->job_stop != 0) && !(is_stop && is_new))
		return;
	if (is_alive)
		(void)prctl(PR_SET_NAME,
		            is_stop ? SUPERVISOR_STOPPED : SUPERVISOR_NAME, 0,
		            0, 0);
	if (is_stop) {
		facts->job_stop =
		    ++self->job_stops * FRONT_STOP_STEP + (unsigned)stop;
		signal_front(run, SIGCHLD);
	} else {
		facts->job_stop = 0; /* first: see stop_job(), front.c */
		if (facts->front_stops)
			signal_front(run, SIGCONT);
	}
}

void
supervisor_tell_phase(struct supervisor *self, enum phase phase)
{
	struct run *const run = self->run;

	run->facts->phase = phase;
	if (phase == PHASE_STOP && getppid() == run->front)
		(void)prctl(PR_SET_NAME, SUPERVISOR_STOPPING, 0, 0, 0);
	if (phase == PHASE_END) {
		self->target_stop = self->stop_order = 0;
		follow_stop(self, false, duration_now());
	}
	/* With nothing to release, our exit follows at once, and tells it. */
	if (phase != PHASE_END || !run->facts->is_released)
		signal_front(run, SIGCHLD);
}

static void
follow_target(struct supervisor *self, int64_t now)
{
	struct run *const run = self->run;
	const struct terminal *const terminal = &run->output.terminal;
	siginfo_t info;

	while (!run->target->has_exited &&
	       wait_poll(run->target->pid, WSTOPPED | WCONTINUED, &info) > 0) {
		const bool is_stopped = info.si_code != CLD_CONTINUED;

		/* On the command's own terminal, the front gets no SIGTSTP, but
		 * has seen the key: su(1) answers that by SIGSTOP. */
		if (is_stopped && info.si_status == SIGSTOP &&
		    duration_is_recent(terminal->facts->suspended_ms, KEY_TIME))
			info.si_status = SIGTSTP;
		if (is_stopped && info.si_status == SIGTSTP &&
		    terminal->is_keyboard)
			self->stop_order = SIGTSTP;
		if (!is_stopped && self->target_stop != 0)
			self->stop_order = 0;
		if (is_stopped && info.si_status == self->group_stop)
			tree_signal_target(&self->tree, self->group_stop);
		self->group_stop = 0;
		self->target_stop = is_stopped ? info.si_status : 0;
		follow_stop(self, is_stopped, now);
	}
}

static void
obey_stop(struct supervisor *self, int signal, unsigned order, int64_t now)
{
	struct run *const run = self->run;

	if (self->state >= STATE_STOPPING)
		return;
	const bool was_stopped = self->target_stop != 0;

	/* First: an older SIGCONT of the target would clear this stop. */
	follow_target(self, now);
	if (self->stop_order != SIGTSTP)
		self->stop_order = signal;

	/* "kill -TSTP %1" reaches both, and the shell may have continued the
	 * target since. */
	const bool has_had_it =
	    (order & ORDER_FOR_JOB) != 0 ||
	    (target_is_in_job(run) && (was_stopped || self->target_stop != 0));

	if (!has_had_it && self->tree.target > 1 &&
	    (order & ORDER_FOR_GROUP) == 0) {
		/* A server may handle it for another purpose, as gunicorn(1)
		 * does: so its group is only stopped when the server is. */
		self->group_stop = signal;
		(void)kill(self->tree.target, signal);
	} else if (!has_had_it) {
		tree_signal_target(&self->tree, signal);
	} else if (self->tree.group != run->callers_group &&
	           !target_is_in_job(run)) {
		/* The kernel ignores a terminal's stop signals, but not
		 * SIGSTOP, for a group that the target made: it is orphaned, as
		 * its parent is in another session (setpgid(2)). */
		tree_signal_target(&self->tree, SIGSTOP);
	}
	follow_stop(self, false, now);
}

/* The caller's shell has continued the job. We continue the processes that its
 * SIGCONT cannot reach, and those to which we have passed a stop. */
static void
obey_continue(struct supervisor *self, int64_t now)
{
	struct run *const run = self->run;
	const unsigned undone = run->facts->undone_stop;

	follow_target(self, now);
	/* The SIGCONT undid an older stop, and the job is stopped again. */
	if (undone != 0 && run->facts->job_stop != 0 &&
	    run->facts->job_stop != undone && target_is_in_job(run))
		return;
	if (self->target_stop != 0 || !target_is_in_job(run) ||
	    self->stop_order != 0) {
		tree_signal_target(&self->tree, SIGCONT);
		if (run->shares_group)
			tree_signal_members(&self->tree, run->callers_group,
			                    SIGCONT);
	}
	self->stop_order = self->group_stop = 0;
	follow_target(self, now);
	follow_stop(self, false, now);
}

static void
take_cancel(struct supervisor *self, int signal)
{
	struct run *const run = self->run;
	const bool is_in_stop = self->state == STATE_STOPPING;

	if (is_in_stop && run->facts->cancels >= CANCELS_MAX)
		return; /* SIGKILL follows at once */
	if (run->facts->cancels == 0 || is_in_stop) {
		tell_signal(run, signal);
		(void)tree_signal(&self->tree, signal, self->due[CLOCK_KILL]);
	} else if (self->cancel_signal == 0) {
		self->cancel_signal = signal; /* which the stop sends */
	} else { /* for the stop, in which CLOCK_ORPHANS wakes us */
		order_give(run->facts, signal, false, false);
	}
}

static void
obey(struct supervisor *self, int signal, unsigned order, int64_t now)
{
	struct run *const run = self->run;
	const uint64_t bit = SIGNAL_BIT(signal);
	const bool is_terminating = (bit & SIGNALS_TERMINATING) != 0;

	/* As if the time were over: POSIX.1-2024, ASYNCHRONOUS EVENTS. */
	if (signal == SIGALRM && run->options->alarm_is_timeout) {
		self->due[CLOCK_TIMEOUT] = now;
	} else if ((bit & SIGNALS_OF_STOP) != 0) {
		obey_stop(self, signal, order, now);
	} else if (signal == SIGCONT) {
		obey_continue(self, now);
	} else if (is_terminating && !order_is_reload(run, signal)) {
		take_cancel(self, signal);
	} else {
		if (is_terminating) {
			self->reload = signal;
			tell_signal(run, signal);
		}
		/* To the target alone, as bare: workers of a server may die of
		 * it. What shell or terminal sends is for its whole group. */
		if (self->tree.target > 1 && !run->options->passes_on &&
		    (order & ORDER_FOR_GROUP) == 0)
			(void)kill(self->tree.target, signal);
		else
			tree_signal_target(&self->tree, signal);
	}
}

static void
take_orders(struct supervisor *self, int64_t now)
{
	for (int signal = 1; signal <= SIGNAL_MAX; signal++) {
		const unsigned order =
		    atomic_exchange(&self->run->facts->orders[signal], 0);

		if (order != 0)
			obey(self, signal, order, now);
	}
}

/* Starts --until-grace at TEXT; later output puts off its end. Takes the
 * front's news of a silence; but in a pause drops it: it comes again. */
static void
follow_output(struct supervisor *self, int64_t now)
{
	const struct options *const options = self->run->options;
	struct output_facts *const output = &self->run->facts->output;
	const int64_t grace = options->until_grace;
	const int64_t tenth = options->idle_timeout / 10;
	int64_t *const due = self->due;
	const int64_t end = duration_add(output->heard, grace);

	if (output->found != 0 && due[CLOCK_UNTIL] == NEVER) {
		due[CLOCK_UNTIL] = duration_add(now, grace);
		due[CLOCK_UNTIL_MAX] =
		    grace > NEVER / UNTIL_GRACES
		        ? NEVER
		        : duration_add(now, grace * UNTIL_GRACES);
	} else if (due[CLOCK_UNTIL] <= now && due[CLOCK_UNTIL] < end) {
		due[CLOCK_UNTIL] = end;
	}
	if (!atomic_exchange(&output->is_silent, false) ||
	    self->state != STATE_RUNNING || self->paused_at != NEVER)
		return;
	if (!options->idle_unless_busy) {
		due[CLOCK_IDLE] = now;
	} else if (due[CLOCK_IDLE] == NEVER) {
		self->activity.since = 0;
		self->relayed = output->relayed;
		due[CLOCK_SAMPLE] = now;
		due[CLOCK_IDLE] =
		    duration_add(now, tenth > SECOND ? tenth : SECOND);
	}
}

void
supervisor_mark_kept(struct supervisor *self)
{
	struct run *const run = self->run;

	if (self->state >= STATE_STOPPING || self->tree.keep == NULL ||
	    run->has_taken_over)
		return;
	tree_spare(&self->tree, self->tree.keep);
	tell_kept(self);
}

static void
note_status(struct target *target, const siginfo_t *end)
{
	target->dumped_core = end->si_code == CLD_DUMPED;
	target->outcome.kind =
	    end->si_code == CLD_EXITED ? OUTCOME_EXIT : OUTCOME_SIGNAL;
	target->outcome.value = end->si_status;
}

/* Notes the target's END. From then on, any reaper may reap it. */
static void
note_end(struct supervisor *self, const siginfo_t *end, int64_t now)
{
	struct run *const run = self->run;
	struct target *const target = run->target;

	/* A reload that has ended it was a cancel. */
	if (self->state == STATE_RUNNING && run->facts->cancels == 0 &&
	    end->si_code != CLD_EXITED && end->si_status == self->reload &&
	    duration_is_recent(run->facts->counted_ms[self->reload],
	                       RELOAD_TIME) &&
	    !run->options->passes_on) {
		run->facts->cancels++;
		self->cancel_signal = self->reload;
	}
	/* Not if a signal to the whole job has also cancelled the run. */
	target->exited_by_itself =
	    self->state == STATE_RUNNING && run->facts->cancels == 0;
	note_status(target, end);
	target->ended_ms = duration_stamp();
	self->tree.group = getpgid(self->tree.target);
	supervisor_mark_kept(self);
	target->has_exited = true;
	/* Reaped at once: survivors may wait for its PID to go. */
	if (target_may_be_reaped(run))
		self->tree.target = 0;
	self->target_stop = self->stop_order = 0;
	follow_stop(self, false, now);
	terminal_end_raw(&run->output.terminal, true);
	if (self->state == STATE_STOPPING)
		clocks_bound_stop(self, now);
}

void
supervisor_reap(struct supervisor *self, int64_t now)
{
	const pid_t target = self->tree.target;
	siginfo_t end;

	if (target != 0 && !self->run->target->has_exited &&
	    wait_poll(target, WEXITED | WNOWAIT, &end) > 0) {
		note_end(self, &end, now);
		/* Before Linux 5.17, waitid(2) with WNOWAIT gives the status of
		 * the main thread, not of the process: wait_task_zombie(). */
		if (tree_reap_child(&self->tree, target, &end))
			note_status(self->run->target, &end);
	}
	/* A target that stays a zombie is told of again and again. */
	while (wait_poll(ANY_CHILD, WEXITED | WNOWAIT, &end) > 0 &&
	       tree_reap_child(&self->tree, end.si_pid, &end))
		;
}

/* A process that was forked while the first signal was sent may have missed it.
 * When its parent dies, it comes to this process, mostly without a SIGCHLD. So
 * in a stop we look soon after each wake-up, and at intervals that grow. */
static void
look_for_orphans(struct supervisor *self, int64_t now)
{
	int64_t *const due = &self->due[CLOCK_ORPHANS];
	const int64_t age = now - self->tree.signalled_at;

	/* Not when SIGKILL is due: to list 2,000 busy children takes long. */
	if (now >= *due && now < self->due[CLOCK_KILL]) {
		(void)tree_signal_again(&self->tree, self->due[CLOCK_KILL]);

		const int64_t end = duration_now();

		/* Looks take half of the time at most. */
		self->next_look = end + (end - now) + ORPHANS_DELAY;
		*due = end + (age < LOOK_INTERVAL ? age : LOOK_INTERVAL);
	} else if (*due > now + ORPHANS_DELAY) {
		*due = now + ORPHANS_DELAY;
	}
	if (*due < self->next_look)
		*due = self->next_look;
}

/* Puts CLOCK_IDLE off if survivors, or a silent command, make progress. */
static void
look_for_progress(struct supervisor *self, int64_t now)
{
	struct run *const run = self->run;
	struct activity *const activity = &self->activity;
	const uint64_t relayed = run->facts->output.relayed;
	const bool is_running = self->state == STATE_RUNNING;
	int64_t *const sample = &self->due[CLOCK_SAMPLE];
	int64_t *const end = &self->due[CLOCK_IDLE];

	if (self->state >= STATE_STOPPING || self->paused_at != NEVER ||
	    now < *sample)
		return;
	if (!is_running) /* a daemon may still be about to become NAME */
		supervisor_mark_kept(self);
	if (!is_running && *end == NEVER) {
		*sample = self->tree.keep == NULL ? NEVER : now + KEEP_INTERVAL;
		return;
	}
	tree_read(&self->tree, NEVER);

	const bool is_busy = activity_sample(activity, &self->tree, now);
	/* A tick of CPU time is 4 % of a sample: so a second decides. */
	const bool is_long = now >= *end || now - activity->since >= SECOND;

	if (relayed != self->relayed || (is_long && is_busy)) {
		activity->since = 0;
		*end = is_running
		           ? NEVER
		           : duration_add(now, run->options->idle_after_exit);
	}
	self->relayed = relayed;
	*sample = duration_add(now, LOOK_INTERVAL);
	if (*sample > *end || *end == NEVER)
		*sample = *end;
}

int64_t
supervisor_run_once(struct supervisor *self, int64_t until)
{
	struct run *const run = self->run;
	enum { SIGNALS, PARENT, READER, COUNT };
	struct pollfd fds[COUNT] = { { run->signal_fd, POLLIN, 0 },
		                     { run->parent_fd, POLLIN, 0 },
		                     { run->reader_fd, 0, 0 } };
	siginfo_t info;

	(void)fds_poll(fds, COUNT, until - duration_now(), NULL);
	for (int i = 0; i < SIGNALS_MAX && signals_take(SIGNALS_ALL, &info) > 0;
	     i++) {
		if (order_take_own_cancel(self, &info))
			take_cancel(self, info.si_signo);
	}

	const int64_t now = duration_now();

	self->front_is_dead = getppid() != run->front;
	/* Before the deaths: a SIGHUP that came before them is a reload. */
	take_orders(self, now);
	follow_output(self, now);
	if (fds[PARENT].revents != 0)
		run->parent_fd = -1;
	if (fds[READER].revents != 0) { /* POLLERR or POLLHUP */
		run->reader_fd = -1;
		clocks_resume(self, now); /* a suspended run ends, too */
		self->due[CLOCK_READER] = now + READER_GRACE;
	}
	supervisor_reap(self, now);
	follow_target(self, now);
	if (self->state == STATE_STOPPING)
		look_for_orphans(self, now);
	/* Orphans come here: so "no child" proves that the tree is empty. */
	if (run->target->has_exited && !run->facts->tree_is_empty)
		run->facts->tree_is_empty = tree_is_empty(&self->tree);
	if (!run->facts->tree_is_empty) {
		look_for_progress(self, now);
		if (now >= self->due[CLOCK_NICE])
			pass_nice_on(self);
		tell_heartbeat(self, now);
	}
	return now;
}
