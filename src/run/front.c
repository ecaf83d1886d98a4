/* The front: takes the caller's signals, carries output, ends as COMMAND. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "proc/signals.h"
#include "run/run.h"

/* Bytes that a drain reads. The tree's pipes hold less; the rest is others'. */
#define OUTSIDERS_MAX ((uint64_t)3 * 1024 * 1024)
#define LAST_ROUNDS   16 /* of the pump, before a stop */
#define STOP_WAITS    25 /* for others of the group to stop */
#define STOP_WAIT     (10 * MILLISECOND)
#define PATIENCE      (10 * SECOND)       /* beyond the supervisor's deadline */
#define LOOK_WAIT     (500 * MILLISECOND) /* more than LOOK_BOUND */
#define LOOK_PATIENCE (2 * SECOND)        /* then --kill-after runs */

/* Makes the supervisor look at the facts. */
static void
wake_supervisor(const struct front *self)
{
	const pid_t supervisor = self->run->supervisor;

	/* Again if kill(2) fails: else a cancel waits for a late supervisor. */
	if (!self->supervisor_is_dead && kill(supervisor, SIGCHLD) == -1)
		(void)kill(supervisor, SIGCHLD);
}

/* The time on a clock that stands still while the job is stopped. */
static int64_t
run_time(const struct front *self)
{
	return duration_now() - self->suspended_for;
}

/* Carries output and keys until the run_time() UNTIL, or until a signal. */
static void
pump_until(const struct front *self, int64_t until)
{
	struct run *const run = self->run;

	if (output_pump(&run->output, run->signal_fd,
	                duration_add(until, self->suspended_for)))
		wake_supervisor(self);
}

/* Passes the signal of INFO on. Follows a change of the terminal: while the job
 * was stopped, SIGWINCH went to the shell only. */
static void
pass_on(const struct front *self, const siginfo_t *info)
{
	struct run *const run = self->run;

	if (info->si_signo == SIGWINCH || info->si_signo == SIGCONT)
		output_copy_size(&run->output);
	if (info->si_signo == SIGCONT)
		terminal_make_raw(&run->output.terminal);
	if (order_pass_on(run, info))
		wake_supervisor(self);
}

static volatile sig_atomic_t is_continued;

static void
note_continue(int signal)
{
	is_continued = signal;
}

/* False only where /proc shows that the target runs: on a busy machine, "fg"
 * may have continued it before the front reads the facts. */
static bool
target_is_stopped(const struct front *self)
{
	const struct target *const target = self->run->target;
	struct procstat stat;

	return target->has_exited || self->supervisor_is_dead ||
	       !procfs_is_ours() ||
	       procstat_read_status(target->pid, &stat) == -1 ||
	       stat.state == 'T' || stat.state == 't';
}

/* Whether all processes of GROUP are stopped, or dead. */
static bool
group_is_stopped(pid_t group)
{
	static struct procfs_list all;
	struct procstat stat;

	procfs_list_names(procfs_fd(), ".", &all);
	for (size_t i = 0; i < all.count; i++) {
		const pid_t pid = all.numbers[i];

		if (getpgid(pid) == group &&
		    procstat_read_status(pid, &stat) == 0 &&
		    strchr("TtZX", stat.state) == NULL)
			return false;
	}
	return true;
}

/* Carries what the command has written before it was stopped. An editor, or a
 * pager that is a child of the command, writes to restore the screen and then
 * stops: that has to be out before the shell's prompt. */
static void
carry_before_stop(const struct front *self)
{
	struct output *const output = &self->run->output;

	for (int i = 0; i < STOP_WAITS && output->terminal.is_keyboard &&
	                !group_is_stopped(output->facts->terminal.group);
	     i++) {
		if (output_pump(output, -1, duration_now() + STOP_WAIT))
			wake_supervisor(self);
	}
	for (int i = 0; i < LAST_ROUNDS && !output_is_empty(output, false); i++)
		pump_until(self, 0);
}

/* Stops this process as the command was stopped, while the facts say STOP; with
 * a terminal of the command's own, also the rest of the job, as Ctrl-Z does. */
static void
stop_job(struct front *self, unsigned stop)
{
	struct run *const run = self->run;
	struct facts *const facts = run->facts;
	const int target_stop = (int)(stop % FRONT_STOP_STEP);
	const bool is_tty_stop =
	    (SIGNAL_BIT(target_stop) & SIGNALS_OF_STOP) != 0;
	const int by = is_tty_stop ? target_stop : SIGTSTP;
	const bool is_for_all =
	    target_stop == SIGTSTP && run->output.terminal.is_keyboard;
	const int64_t began = duration_now();
	siginfo_t info;

	/* Those that are pending would merge with our own stop signal. */
	while (signals_take(SIGNALS_OF_STOP, &info) > 0)
		pass_on(self, &info);
	carry_before_stop(self);
	terminal_end_raw(&run->output.terminal, false);

	/* A SIGCONT that comes meanwhile must not be lost, but a stop signal
	 * discards a pending one. So a handler notes SIGCONT until our stop
	 * signal is pending; later, SIGCONT discards that signal, or ends the
	 * stop: prepare_signal(), kernel/signal.c. The supervisor clears the
	 * fact before its SIGCONT. */
	facts->front_stops = true;
	is_continued = 0;
	(void)signal(SIGCONT, note_continue);
	signals_mask(SIG_UNBLOCK, SIGNAL_BIT(SIGCONT), NULL);
	/* Whoever continues the target from now on continues the front, too. */
	if (!target_is_stopped(self))
		is_continued = SIGCONT;
	if (is_continued == 0 && facts->job_stop == stop)
		(void)kill(is_for_all ? 0 : getpid(), by);
	if (is_continued == 0 && facts->job_stop == stop)
		signal_deliver(by);
	else
		(void)signals_take(SIGNAL_BIT(by), &info);
	facts->front_stops = false;
	signals_mask(SIG_BLOCK, SIGNAL_BIT(SIGCONT), NULL);

	self->suspended_for += duration_now() - began;
	output_note_heard(&run->output); /* nobody was silent meanwhile */
	output_copy_size(&run->output);
	terminal_make_raw(&run->output.terminal);
	/* Without a SIGCONT, the kernel has ignored the stop, as it does in an
	 * orphaned process group: then the tree has to go on, too. But a
	 * SIGSTOP of the target lasts until its sender undoes it. */
	if (facts->job_stop == stop && (is_continued != 0 || is_tty_stop)) {
		facts->undone_stop = stop;
		order_give(facts, SIGCONT, false, false);
		wake_supervisor(self);
	}
}

/* --- the supervisor ------------------------------------------------------- */

/* By when a stop of the tree that begins now should be over. */
static int64_t
end_of_stop(const struct front *self)
{
	const struct run *const run = self->run;
	const bool is_third = run->facts->cancels >= CANCELS_MAX;

	return duration_add(run_time(self) + TREE_KILL_BOUND,
	                    is_third ? 0 : run->options->kill_after);
}

/* Looks for a sign that the supervisor lives, and gives it a new deadline then.
 * After the outcome it is late at once: end_late_supervisor() adds PATIENCE. */
static void
look_at_facts(struct front *self)
{
	const struct facts *const facts = self->run->facts;
	const int64_t now = run_time(self);
	const int64_t end = end_of_stop(self);
	const int phase = facts->phase;

	if (facts->cancels > 0 && end < self->deadline)
		self->deadline = end;
	if (phase != self->phase) {
		self->lateness = LATE_NOT;
		self->deadline = phase == PHASE_END    ? now
		                 : phase == PHASE_LOOK ? now + LOOK_WAIT
		                                       : end;
	}
	self->phase = phase;
	/* A supervisor whose look hangs obeys no third signal: it has 1 s. */
	if (phase == PHASE_LOOK && facts->cancels >= CANCELS_MAX &&
	    (self->lateness == LATE_NOT ||
	     (self->lateness == LATE_ONCE && self->deadline > now + SECOND))) {
		self->lateness = LATE_ONCE;
		self->deadline = now + SECOND;
	}
}

/* Signals the target and its group; with SIGKILL, or when the target has
 * exited, all below the supervisor, which as TARGET is left out. Only for a
 * supervisor that hangs, or gets no processor: it does not reap, and each PID
 * stays. */
static void
signal_tree(const struct run *run, int signal)
{
	const bool has_exited = target_may_be_reaped(run);
	struct tree tree = {
		.target = has_exited ? run->supervisor : run->target->pid,
		.group = run->target->pid,
		.keep = run->options->keep,
		.keeps_leaders = run->options->keep != NULL,
	};

	/* Before the first signal, which makes orphans. */
	if (tree.keep != NULL && signal == run->options->signal)
		tree_spare(&tree, tree.keep);
	if (!has_exited && tree.target != 0)
		tree_signal_target(&tree, signal);
	tree.target = run->supervisor;
	if (has_exited || signal == SIGKILL)
		tree_signal_members(&tree, ANY_GROUP, signal);
}

/* The deadline of the supervisor has passed: its look takes long, as the tree
 * leaves it no processor; or it hangs in a file system, or in a debugger. It
 * has more time, as both watchers may have been stopped, by a freezer, say;
 * then it is killed, and then given up. */
static void
end_late_supervisor(struct front *self)
{
	struct run *const run = self->run;
	const struct options *const options = run->options;
	const bool looks =
	    self->phase == PHASE_LOOK && self->lateness == LATE_NOT;
	const char *const words = reasons[run->facts->reason].words;
	int nobody = 0;

	self->lateness++; /* the next of the enum */
	self->deadline = run_time(self) + PATIENCE;
	/* The front sends the first signal itself, and --kill-after runs. */
	if (looks) {
		self->deadline = duration_add(run_time(self) + LOOK_PATIENCE,
		                              options->kill_after);
		if (atomic_compare_exchange_strong(&run->facts->signalled_by,
		                                   &nobody, run->front)) {
			signal_tree(run, options->signal);
			signal_tree(run, SIGCONT);
		}
	}
	if (self->lateness != LATE_KILLED)
		return;
	if (!options->quiet)
		message("%s%sthe supervisor (PID %d) does not answer, killing "
		        "it",
		        words == NULL ? "" : words, words == NULL ? "" : "; ",
		        run->supervisor);
	/* Only take_signal() reaps it: the PID is its own. */
	(void)kill(run->supervisor, SIGKILL);
}

/* Takes a signal, and returns its number, or -1 if none has come. */
static int
take_signal(struct front *self)
{
	struct run *const run = self->run;
	siginfo_t info;
	const int signal = signals_take(SIGNALS_ALL, &info);
	pid_t child;

	if (signal != SIGCHLD) {
		if (signal != -1)
			pass_on(self, &info);
		return signal;
	}
	self->supervisor_is_dead |=
	    wait_poll(run->supervisor, WEXITED, &info) > 0;
	/* Reaps orphans, if this is PID 1, and children from before wdrun's
	 * exec. Stops at a dead supervisor or target, whose status is still to
	 * be read. */
	while ((child = wait_poll(ANY_CHILD, WEXITED | WNOWAIT, &info)) > 0 &&
	       child != run->supervisor &&
	       (child != run->target->pid || target_may_be_reaped(run)))
		(void)wait_poll(child, WEXITED, &info);
	return signal;
}

bool
front_watch(struct front *self)
{
	struct run *const run = self->run;
	struct facts *const facts = run->facts;

	self->deadline = duration_add(end_of_stop(self), run->options->timeout);
	output_note_heard(&run->output);
	output_copy_size(&run->output); /* it may have waited for a lock */
	terminal_make_raw(&run->output.terminal);
	while (!self->supervisor_is_dead && self->lateness < LATE_GIVEN_UP) {
		const int64_t began = duration_now();

		pump_until(self, self->deadline);
		/* The kernel has ignored the stop: see stop_job(). */
		if (self->job_stop != 0 && self->job_stop == facts->job_stop)
			self->suspended_for += duration_now() - began;
		(void)take_signal(self);
		if (self->job_stop != facts->job_stop &&
		    !self->supervisor_is_dead) {
			self->job_stop = facts->job_stop;
			if (self->job_stop != 0)
				stop_job(self, self->job_stop);
		}
		look_at_facts(self);
		if (!self->supervisor_is_dead &&
		    run_time(self) >= self->deadline)
			end_late_supervisor(self);
	}

	const bool has_outcome = facts->phase == PHASE_END;
	const bool is_given_up = !self->supervisor_is_dead;

	/* It may hang in resources_release(), as this process would. */
	if (self->lateness >= LATE_KILLED && (has_outcome || is_given_up))
		facts->is_released = true;
	if (is_given_up && !has_outcome) {
		if (!nobody_is_awaited(run)) /* survivors may be let go */
			signal_tree(run, SIGKILL);
		facts->ended = duration_now();
	}
	return has_outcome || is_given_up;
}

/* --- the drain ------------------------------------------------------------ */

/* Carries on for survivors, in a process that nobody waits for. Returns false
 * where there is no such process. */
static bool
leave_behind(struct run *run)
{
	const pid_t pid = plain_fork();

	if (pid != 0)
		return pid != -1;
	/* stderr may be another program's by then; and whoever reads the report
	 * waits for its end. */
	(void)close(STDERR_FILENO);
	fds_close(run->report.stream_fd);
	fds_leave_directory();
	while (!output_is_empty(&run->output, true))
		(void)output_pump(&run->output, -1, NEVER);
	_exit(0);
}

/* Ends the drain at --timeout; after a failure, at --kill-after, or earlier,
 * READER_PATIENCE after a reader took a byte. After --until and survivors, the
 * status says that all is well: nobody would look for lost output. */
static int64_t
end_of_drain(const struct front *self, int64_t began, int64_t moved_at)
{
	const struct run *const run = self->run;
	const enum reason stop = run->facts->reason;
	const bool is_bounded =
	    run->has_taken_over || run->facts->cancels > 0 ||
	    stop == REASON_PARENT_LOST || reasons[stop].status > 0;
	const int64_t timeout =
	    duration_add(run->facts->output.started, run->options->timeout);
	const int64_t end = duration_add(began, run->options->kill_after);
	const int64_t patience = moved_at + READER_PATIENCE;

	if (!is_bounded && run_time(self) < timeout)
		return timeout;
	return end < patience ? end : patience;
}

static void
drain(struct front *self)
{
	struct run *const run = self->run;
	struct output *const output = &run->output;
	const uint64_t read_max = output->taken + OUTSIDERS_MAX;
	const int64_t began = run_time(self);
	int64_t moved_at = began;

	if (output->count > 0 && survivors_are_free(run) &&
	    !run->facts->tree_is_empty && leave_behind(run))
		return;
	while (!output_is_empty(output, false) &&
	       run->facts->cancels < CANCELS_MAX) {
		const int64_t end = end_of_drain(self, began, moved_at);
		const uint64_t relayed = output->facts->relayed;

		if (run_time(self) >= end)
			break;
		if (output->taken > read_max)
			return;
		pump_until(self, end);

		const int signal = take_signal(self);

		/* Ctrl-Z, while less(1) takes no more, say. */
		if (signal > 0 && (SIGNAL_BIT(signal) & SIGNALS_OF_STOP) != 0) {
			run->facts->job_stop = (unsigned)signal;
			stop_job(self, run->facts->job_stop);
		}
		if (output->facts->relayed != relayed)
			moved_at = run_time(self);
	}
	output_finish(output);
}

/* --- the end -------------------------------------------------------------- */

void
front_tell_end(struct run *run)
{
	const struct terminal *const terminal = &run->output.terminal;

	/* A command that has ended by itself chose its modes. */
	if (!run->target->exited_by_itself && run->shares_group)
		terminal_restore(terminal, run->callers_group, run->caller);
	/* Another job's screen is left alone; -1: a supervisor, in another
	 * session, cannot ask. */
	else if (!run->target->exited_by_itself &&
	         terminal->facts->had_screen && terminal->shows_output &&
	         (tcgetpgrp(terminal->fd) == -1 ||
	          terminal_has_foreground(terminal->fd)))
		terminal_reset_screen(terminal);
	message_release();
	if (run->facts->exec_error == 0) {
		tell_end(run);
	} else {
		target_tell_failure(run);
		run->facts->refusal = message_last;
	}
	report_write(run);
}

_Noreturn void
front_end(struct front *self)
{
	struct run *const run = self->run;
	struct outcome *const outcome = &run->facts->outcome;

	resources_release(run);
	terminal_end_raw(&run->output.terminal, true);
	drain(self);
	/* As a write error makes a program fail: "pg_dump >file && rm old". */
	if (run->facts->output.stdout_is_lost &&
	    outcome->kind == OUTCOME_EXIT && outcome->value == 0)
		outcome->value = STATUS_FAILED;
	front_tell_end(run);
	if (outcome->kind != OUTCOME_SIGNAL)
		_exit(outcome->value);
	/* An inner run has made this signal of a key, for its own job: ours
	 * gets it, too. */
	if (outcome->value == run->output.terminal.passed_key &&
	    run->facts->cancels == 0)
		(void)kill(0, outcome->value);
	signal_die_by(outcome->value);
}
