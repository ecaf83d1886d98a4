/*
 * wdrun: runs a command, and ends it together with all that it has started.
 *
 * Two processes watch a run. The front is the process that the caller started:
 * it takes the caller's signals, carries output and keys, and ends as the
 * command did. The supervisor is the command's parent, and a subreaper, to
 * which orphans come: it decides, signals and reaps. They share memory, the
 * facts (run/run.h), and a signal makes the other look there.
 *
 * supervise() sleeps until something happens or a clock is due; decide() gives
 * the reason for the next change of state, if any; enter() makes the change:
 *
 * - Ctrl-C at a prompt: the terminal signals the whole job. The command gets
 *   the signal, and decides what follows. The front drops its copy.
 * - SIGINT, SIGTERM and the like from elsewhere cancel the run: the tree gets
 *   the same signal, and SIGKILL after --kill-after, or at the third signal.
 * - SIGKILL of the front: PR_SET_PDEATHSIG wakes the supervisor, which kills
 *   the tree.
 * - SIGKILL of the supervisor: PR_SET_PDEATHSIG kills the command. Its
 *   descendants come to the front, a subreaper too, which kills them, and ends
 *   as the command did.
 * - SIGKILL does not end a process in state D. After 5 s without a death, or
 *   30 s in all, wdrun names it, and ends without it.
 */
#include "watchdog.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "cli/options.h"
#include "proc/signals.h"
#include "registry/registry.h"
#include "run/run.h"

static void prepare(struct run *run);
static _Noreturn void be_supervisor(struct run *run);
static void detach(struct run *run, bool is_front);
static void take_over(struct run *run);

/* Ends wdrun before anything is started or locked. The report gives the last
 * message as the reason. */
static _Noreturn void
exit_failed(struct run *run)
{
	if (run->report.path != NULL) /* opened after the facts */
		run->facts->refusal = message_last;
	report_write(run);
	_exit(STATUS_FAILED);
}

static _Noreturn void
die(struct run *run, const char *what)
{
	message("%s: %s", what, strerror(errno));
	exit_failed(run);
}

/* Points ARGV to a copy in TEXT, since the supervisor overwrites the words. */
static void
copy_words(struct run *run, char *text, char *argv[])
{
	memcpy(text, run->words, run->words_size);
	for (; *argv != NULL; argv++)
		*argv = text + (*argv - run->words);
	program_invocation_short_name =
	    text + (program_invocation_short_name - run->words);
}

/* --explain: a number is a PID, else a run is meant. */
static int
explain(const struct options *options)
{
	char *end;
	const long number = strtol(options->explain, &end, 10);
	pid_t root = number > 0 && number <= INT_MAX ? (pid_t)number : 0;
	const int status =
	    *end == '\0' ? EXIT_SUCCESS : explain_run(options, &root);

	return status == EXIT_SUCCESS ? look_explain(root, options->as_json)
	                              : status;
}

int
main(int argc, char *argv[])
{
	static struct run run;
	static struct options options;
	struct front front = { .run = &run };

	if (argc == 0) /* execve(2) allows it before Linux 5.18 */
		return STATUS_FAILED;
	/* The kernel puts the words one behind the other: execve(2). */
	run.words = argv[0];
	run.words_size =
	    strlen(argv[argc - 1]) + 1 + (size_t)(argv[argc - 1] - run.words);
	copy_words(&run, alloca(run.words_size), argv);

	const int status = options_read(&options, argc, argv);

	if (status != OPTIONS_ARE_COMPLETE)
		return status; /* also of --help and --version */
	if (fds_fill_standard(O_CLOEXEC) == -1)
		die(&run, "cannot open /dev/null");
	if (procfs_start() == -1)
		die(&run, "cannot open /proc");
	if (options.list)
		return list_print(&options);
	if (options.reap)
		return reap_orphans(options.registry, options.quiet, true);
	if (options.explain != NULL)
		return explain(&options);
	if (options.cancel != NULL)
		return cancel_run(&options);

	run.options = &options;
	prepare(&run);
	message_facts = &run.facts->messages;
	order_take_early(&run);
	run.supervisor = plain_fork();
	if (run.supervisor == -1) {
		run.facts->exec_error = errno;
		run.supervisor = 0; /* -1 would be all processes to kill(2) */
		front_end(&front);  /* does not return */
	}
	if (run.supervisor == 0)
		be_supervisor(&run); /* does not return */

	/* From here on, we are the front. */
	detach(&run, true);
	/* Not before the fork: the supervisor would spare reused PIDs, too. */
	if (run.had_children)
		tree_spare(&(struct tree){ .target = run.supervisor }, NULL);
	if (!front_watch(&front))
		take_over(&run);
	front_end(&front);
}

/* A shell without job control ignores SIGINT and SIGQUIT for "timeout 9 cmd &",
 * and scripts send them by "kill -INT -$!": so timeout(1), like wdrun -s INT,
 * leads a group, and the command gets both with the default action. */
static void
heed_signals(const struct options *options)
{
	if ((options->leads_group || options->signal == SIGINT ||
	     options->signal == SIGQUIT) &&
	    !options->foreground && signal_is_ignored(SIGINT) &&
	    !terminal_is_controlling(STDIN_FILENO)) {
		(void)setpgid(0, 0);
		signal_reset(SIGINT);
		signal_reset(SIGQUIT);
	}
	/* POSIX.1-2024, timeout: the command inherits each disposition but this
	 * signal's, which would else be ignored below nohup(1). */
	if (options->leads_group)
		signal_reset(options->signal);
}

/* Returns a pidfd of the caller PARENT, or -1 if that has just died.
 * PR_SET_PDEATHSIG would come when the caller's thread ends: prctl(2). */
static int
open_parent(struct run *run, pid_t parent)
{
	if (parent == 0) { /* as in "docker exec" */
		message("--die-with-parent: the caller is in another PID "
		        "namespace, and cannot be watched");
		exit_failed(run);
	}

	const int fd = pidfd_open(parent);

	if (fd == -1 && errno != ESRCH)
		die(run, "--die-with-parent: cannot watch the caller");
	return getppid() == parent ? fd : -1; /* -1: FD may be another's */
}

/* Makes what both watchers need, before the supervisor is forked. */
static void
prepare(struct run *run)
{
	siginfo_t older;
	pid_t child;

	run->parent_fd = run->report.stream_fd = run->report.directory_fd = -1;
	run->reader_fd = run->options->die_with_reader ? STDOUT_FILENO : -1;
	heed_signals(run->options);
	run->callers_group = getpgrp();
	run->front = getpid();
	run->caller = getppid();
	run->facts = mmap(NULL, sizeof(*run->facts), PROT_READ | PROT_WRITE,
	                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->facts == MAP_FAILED)
		die(run, "no memory");
	run->facts->outcome = (struct outcome){ OUTCOME_EXIT, STATUS_FAILED };
	run->facts->tree_is_empty = true;
	run->facts->started_at = duration_of_clock(CLOCK_REALTIME);
	run->target = &run->facts->target;
	run->output.facts = &run->facts->output;
	runid_make(run->facts->id, run->facts->id_variable, run->front);
	/* The next calls may hang in a file system. Signals are not blocked
	 * yet: so one can end wdrun there. */
	if (run->options->report != NULL &&
	    report_open(&run->report, run->options->report) == -1)
		_exit(STATUS_FAILED);
	if (run->options->no_stdin && access("/dev/null", R_OK) == -1)
		die(run, "cannot open /dev/null");
	if (run->options->die_with_parent)
		run->parent_fd = open_parent(run, run->caller);
	if (resources_prepare(run) == -1 ||
	    output_setup(&run->output, run->options) == -1)
		exit_failed(run);
	target_prepare(run);

	run->signal_fd = signals_open();
	if (run->signal_fd == -1)
		die(run, "cannot open a signalfd");
	/* bash may leave us children, as in "wdrun cmd > >(tee log)", which
	 * kill_tree() spares. The dead are reaped here. */
	while ((child = wait_poll(ANY_CHILD, WEXITED, &older)) > 0)
		;
	run->had_children = child != -1;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		die(run, "cannot become a subreaper");

	/* Last: the failures above exit without releasing a lock. */
	if (resources_acquire(run) == -1) {
		report_write(run);
		_exit(run->facts->outcome.value);
	}
}

/* Whether the program that executed wdrun has locked a file by fcntl(2), and
 * left it open. The kernel drops such a lock when its owner closes any
 * descriptor of the file, and shows it at the one that took it: proc(5). */
static bool
has_fcntl_lock(void)
{
	char text[1024];

	for (int fd = STDERR_FILENO + 1; fds_next_inherited(&fd); fd++) {
		if (procfs_read(text, sizeof(text), "self/fdinfo/%d", fd) > 0 &&
		    strstr(text, ": POSIX ") != NULL)
			return true;
	}
	return false;
}

/* Gives up what this watcher has inherited, but stderr and what it needs. */
static void
detach(struct run *run, bool is_front)
{
	if (!is_front) /* what is close-on-exec stays */
		(void)fcntl(run->reader_fd, F_SETFD, FD_CLOEXEC);
	/* tmux(1) takes the directory of the foreground group's leader for that
	 * of the job. As a rule, the caller's shell is there, too. */
	if (!is_front || run->output.terminal.fd == -1)
		fds_leave_directory();
	if (!is_front || !has_fcntl_lock())
		fds_close_inherited();
	output_close_ends(&run->output, is_front);
}

/* --- the supervisor ------------------------------------------------------- */

/* Whether a process of the run may have set its terminal's modes. A command
 * that is dead may have done so, too. */
static bool
may_have_set_modes(struct supervisor *self)
{
	struct tree *const tree = &self->tree;
	const int64_t until = duration_now() + LOOK_BOUND / 2;

	if (self->run->has_taken_over || self->run->target->has_exited)
		return true;
	tree_read(tree, until);
	for (size_t i = 0; i < tree->count; i++) {
		if (terminal_may_be_set_by(tree->members[i].pid, true) ||
		    duration_now() >= until)
			return true;
	}
	return tree->is_partial || tree->count == 0;
}

/* Begins a stop, or its next stage. The first gives the reason of which the
 * outcome is made, and holds messages back from a full-screen program. */
static void
begin_stop(struct supervisor *self, enum reason why, int64_t now)
{
	struct run *const run = self->run;
	const struct terminal *const terminal = &run->output.terminal;
	bool *const had_screen = &terminal->facts->had_screen;

	supervisor_mark_kept(self);
	clocks_resume(self, now);
	self->due[CLOCK_HEARTBEAT] = NEVER;
	if (run->facts->reason != REASON_NONE)
		return;
	run->facts->reason = why;
	/* Asked now, as ssh(1) puts the modes back when it is stopped, but not
	 * the screen. */
	if (run->shares_group && terminal->fd != -1) {
		*had_screen |= terminal_has_screen(terminal->fd);
		terminal->facts->is_others = !may_have_set_modes(self);
		message_facts->is_held = terminal_is_changed(terminal) &&
		                         !terminal->facts->is_others;
	} else if (run->output.has_pty) {
		/* In a front, this descriptor is closed: it shows no screen. */
		*had_screen |=
		    terminal_has_screen(run->output.fds[STDOUT_FILENO]);
		message_facts->is_held = run->has_taken_over || *had_screen;
	}
}

static void
begin_lingering(struct supervisor *self, int64_t now)
{
	const struct options *const options = self->run->options;

	self->due[CLOCK_IDLE] = duration_add(now, options->idle_after_exit);
	self->due[CLOCK_MAX_AFTER_EXIT] =
	    duration_add(now, options->max_after_exit);
	self->activity.since = 0;
	self->due[CLOCK_SAMPLE] = now;
}

/* Sends the first signal of a stop. Returns how many processes got it. */
static size_t
stop_tree(struct supervisor *self, enum reason why)
{
	struct run *const run = self->run;
	struct tree *const tree = &self->tree;
	const bool is_cancel = why == REASON_CANCELLED;
	const int signal =
	    is_cancel ? self->cancel_signal : run->options->signal;
	const int64_t now = duration_now();

	clocks_bound_stop(self, now);
	/* With no SIGKILL after a cancel, --timeout still sends --signal to a
	 * command that goes on. */
	if (!is_cancel || self->due[CLOCK_KILL] != NEVER)
		self->due[CLOCK_TIMEOUT] = NEVER;
	self->due[CLOCK_ORPHANS] = now + MILLISECOND;
	if (is_cancel ? order_came_to_all(self)
	              : atomic_exchange(&run->facts->signalled_by,
	                                run->supervisor) == run->front) {
		tree->group_has_signal = true;
		tree->all_have_signal = is_cancel || tree->target == 0;
	}
	tell_signal(run, signal);
	/* A busy tree may leave this process no processor: so SIGKILL waits no
	 * longer than 50 ms for the rest of the first signals. */
	return tree_signal(
	    tree, signal,
	    duration_add(self->due[CLOCK_KILL], 50 * MILLISECOND));
}

/* Kills the tree. Returns how many died by SIGKILL. */
static size_t
kill_tree(struct supervisor *self)
{
	struct run *const run = self->run;
	struct tree *const tree = &self->tree;

	if (run->has_taken_over && run->had_children) {
		/* Orphans of those children come here, too: so we kill only
		 * the target, and this user's processes that are proven to be
		 * of the run. */
		if (tree->target > 1)
			(void)kill(tree->target, SIGKILL);
		reap_own_run(run->facts->id, run->supervisor, tree->keep);
		wait_or_kill(tree->target, duration_now() + TREE_KILL_BOUND);
		supervisor_reap(self, duration_now());
		tree_read(tree, duration_now() + LOOK_BOUND);
		run->facts->tree_is_empty = tree_is_empty(tree);
	} else {
		run->facts->tree_is_empty =
		    tree_kill(tree, self, supervisor_reap);
	}
	tell_signal(run, SIGKILL);
	return tree->killed;
}

/* Changes the state because of WHY: looks, acts, counts, tells. The look comes
 * before the first signal, while processes still are as they hung. */
static void
enter(struct supervisor *self, enum reason why, int64_t now)
{
	struct run *const run = self->run;
	const enum state next = reasons[why].next;
	const bool is_stop = next == STATE_STOPPING || next == STATE_KILLING;
	size_t count = self->tree.count; /* of REASON_LAST_BOUND: no stop */

	if (is_stop)
		begin_stop(self, why, now);
	/* If a busy tree leaves this process no processor from here on, the
	 * front sends the signal of the stop. */
	if (next == STATE_STOPPING && why != REASON_CANCELLED)
		supervisor_tell_phase(self, PHASE_LOOK);
	if (is_stop && self->state < STATE_STOPPING)
		tree_take_priority(); /* the look needs it, too */

	const size_t seen = tell_look(self, why);

	if (is_stop)
		supervisor_tell_phase(self, PHASE_STOP);
	self->state = next;
	if (next == STATE_LINGERING)
		begin_lingering(self, now);
	if (next == STATE_STOPPING)
		count = stop_tree(self, why);
	if (next == STATE_KILLING)
		count = kill_tree(self);
	/* The message counts those that it shows: some may be reaped by now. */
	if (seen > 0 && !run->facts->look.is_partial)
		count = seen;

	/* Those that are left may have had none (EPERM): so the dead count. */
	const bool has_left =
	    next == STATE_KILLING && !run->facts->tree_is_empty;
	const size_t killed = has_left ? self->tree.killed : count;

	if (is_stop && run->facts->killed < killed &&
	    (next == STATE_KILLING || self->tree.signal == SIGKILL))
		run->facts->killed = killed;
	/* A front that takes over finds fewer than the supervisor signalled. */
	if (is_stop && run->facts->signalled == 0)
		run->facts->signalled = count;
	tell_change(self, why, count);
}

/* The life of a run, whose target was just started. */
static void
supervise(struct supervisor *self)
{
	struct run *const run = self->run;
	const int64_t started = duration_now();
	/* No sleep at first: a front that died before prctl(2) woke nobody. */
	int64_t until = started;

	run->facts->output.started = started;
	self->due[CLOCK_TIMEOUT] = duration_add(started, run->options->timeout);
	if (!run->options->quiet)
		self->due[CLOCK_HEARTBEAT] =
		    duration_add(started, run->options->heartbeat);

	while (self->state != STATE_DONE) {
		const int64_t now = supervisor_run_once(self, until);
		enum reason why;

		/* An event may give reasons for several changes. */
		while ((why = decide(self, now)) != REASON_NONE)
			enter(self, why, now);
		until = next_due(self);
	}
}

/* Reaps all children, and makes the outcome. From now on the tree is not
 * signalled: its PIDs may be reused. */
static void
make_outcome(struct supervisor *self)
{
	struct run *const run = self->run;

	supervisor_reap(self, duration_now()); /* dead since the last bound */
	self->tree.target = 0; /* its zombie, if it was kept, is reaped, too */
	supervisor_reap(self, duration_now());
	run->facts->cpu = wait_usage(&run->facts->memory);
	run->facts->ended = duration_now();
	run->facts->outcome = run_outcome(run);
}

/* The state of the watcher that ends the run, with the target's PID, or 0. */
static struct supervisor
new_supervisor(struct run *run, pid_t target)
{
	struct supervisor self = {
		.run = run,
		.paused_at = NEVER,
		.tree = { .target = target, .keep = run->options->keep },
	};

	for (enum clock i = 0; i < CLOCK_COUNT; i++)
		self.due[i] = NEVER;
	return self;
}

static _Noreturn void
be_supervisor(struct run *run)
{
	struct supervisor self = new_supervisor(run, 0);

	if (getppid() == 0) { /* the front is in another PID namespace */
		run->facts->refusal = "the command would be in another PID "
		                      "namespace: unshare --pid needs --fork";
		message("%s", run->facts->refusal);
	} else if (supervisor_start(&self) == -1) {
		run->facts->exec_error = errno;
	} else {
		detach(run, false);
		supervise(&self);
	}
	make_outcome(&self);
	/* If we die from here on, the front does only the rest of this. */
	supervisor_tell_phase(&self, PHASE_END);
	resources_release(run);
	if (getppid() != 0 && getppid() != run->front) {
		terminal_end_raw(&run->output.terminal, true);
		front_tell_end(run);
	}
	/* When a session leader ends, the kernel sends SIGHUP to the foreground
	 * of its terminal: disassociate_ctty(). So this process takes it, and
	 * survivors that may live get no SIGHUP. At the very end, since without
	 * the foreground they would stop by SIGTTOU. */
	if (run->output.has_pty)
		(void)tcsetpgrp(run->output.fds[STDOUT_FILENO], getpgrp());
	/* proot(1) and firejail(1) end as the last of their processes that
	 * exits, and do not see that the front dies by the command's signal. */
	_exit(outcome_status(&run->facts->outcome));
}

/* In the front: kills the tree in place of a supervisor that is dead. */
static void
take_over(struct run *run)
{
	struct supervisor self = new_supervisor(
	    run, target_may_be_reaped(run) ? 0 : run->target->pid);

	run->has_taken_over = true;
	self.tree.keeps_leaders = self.tree.keep != NULL;
	self.tree.spares = run->had_children || self.tree.keeps_leaders;
	if (!survivors_are_free(run))
		enter(&self, REASON_SUPERVISOR_LOST, duration_now());
	/* Because of REASON_TREE_EMPTY or REASON_LAST_BOUND. */
	enter(&self, decide(&self, duration_now()), duration_now());
	make_outcome(&self);
}
