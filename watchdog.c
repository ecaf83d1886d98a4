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
 * - Ctrl-C at a prompt: the terminal signals the whole job, and so the command,
 *   whose choice it is what follows. The front drops its copy.
 * - SIGINT, SIGTERM and the like from elsewhere cancel the run: the tree gets
 *   the same signal, and SIGKILL after --kill-after, or at the third signal.
 * - SIGKILL of the front: by PR_SET_PDEATHSIG, the supervisor kills the tree.
 * - SIGKILL of the supervisor: PR_SET_PDEATHSIG kills the command. The rest
 *   comes to the front, a subreaper too, which kills it, and dies as it did.
 * - A process in state D, which SIGKILL does not end, is waited for until 5 s
 *   without a death, or 30 s in all; it is named, and the run ends without it.
 */
#include "watchdog.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

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
static _Noreturn void leave(struct run *run);

#define SIGNAL_TIME (50 * MILLISECOND) /* at least, even with -k 0 */
#define PAGE_MAX    65536              /* bytes */

/* For the time when nothing is started or locked: reports that, with the words
 * WHY where there are no others. */
static _Noreturn void
refuse(struct run *run, const char *why)
{
	if (run->report.path != NULL && run->facts->refusal == NULL)
		run->facts->refusal = why;
	report_write(run);
	_exit(STATUS_FAILED);
}

static _Noreturn void
die(struct run *run, const char *what)
{
	message("%s: %s", what, strerror(errno));
	refuse(run, what);
}

/* Makes ARGV point to a copy in TEXT: the supervisor overwrites the words. */
static void
copy_words(struct run *run, char *text, char *argv[])
{
	char *const name = program_invocation_short_name;

	memcpy(text, run->words, run->words_size);
	for (; *argv != NULL; argv++)
		*argv = text + (*argv - run->words);
	program_invocation_short_name = text + (name - run->words);
}

/* --explain: a number is a PID, else a run is meant. */
static int
explain(const struct options *options)
{
	char *end;
	const long number = strtol(options->explain, &end, 10);
	const bool is_run = *end != '\0';
	pid_t root = number > 0 && number <= INT_MAX ? (pid_t)number : 0;
	const int status =
	    is_run ? explain_run(options->registry, options->explain, &root)
	           : EXIT_SUCCESS;

	return status == EXIT_SUCCESS
	           ? look_explain(root, is_run, options->as_json)
	           : status;
}

int
main(int argc, char *argv[])
{
	/* In the page of libc's variables, which saves a page fault. */
	static struct run run __attribute__((section(".data")));

	if (argc > 0) {
		char *const last = argv[argc - 1];

		/* The kernel puts them one behind the other: execve(2). */
		run.words = argv[0];
		run.words_size = (size_t)(last - run.words) + strlen(last) + 1;
		copy_words(&run, alloca(run.words_size), argv);
	}

	const int status = options_read(&run.options, argc, argv);

	if (status != OPTIONS_ARE_COMPLETE)
		return status; /* also of --help and --version */
	if (fds_fill_standard(O_CLOEXEC) == -1 ||
	    (run.options.no_stdin && access("/dev/null", R_OK) == -1))
		die(&run, "cannot open /dev/null");
	if (procfs_start() == -1)
		die(&run, "cannot open /proc");
	/* Without a COMMAND: acts on the runs on record. */
	if (run.options.list)
		return list_print(run.options.registry, run.options.as_json,
		                  run.options.quiet);
	if (run.options.reap)
		return reap_all(run.options.registry, run.options.quiet);
	if (run.options.explain != NULL)
		return explain(&run.options);
	if (run.options.cancel != NULL)
		return cancel_run(run.options.registry, run.options.cancel,
		                  run.options.quiet);

	prepare(&run);
	message_share(&run.facts->messages);
	run.supervisor = plain_fork();
	if (run.supervisor == -1) {
		run.facts->exec_error = errno;
		run.supervisor = 0; /* no PID of a lock */
		run.supervisor_is_dead = true;
		leave(&run);
	}
	if (run.supervisor == 0)
		be_supervisor(&run); /* does not return */

	/* From here on, we are the front. */
	detach(&run, true);
	if (run.had_children)
		tree_spare(&run.tree, NULL);
	if (!front_watch(&run))
		take_over(&run);
	leave(&run);
}

/* Ends this process as the outcome says. */
static _Noreturn void
end_front(const struct run *run)
{
	const struct outcome outcome = run->facts->outcome;

	if (outcome.kind != OUTCOME_SIGNAL)
		_exit(outcome.value);
	signal_die_by(outcome.value);
}

/* A shell without job control ignores SIGINT and SIGQUIT for "timeout 9 cmd &",
 * and scripts send them by "kill -INT -$!": so timeout(1) leads a group, and
 * the command gets these signals with the default action. */
static void
lead_background(void)
{
	if (!signal_is_ignored(SIGINT) || terminal_is_controlling(STDIN_FILENO))
		return;
	(void)setpgid(0, 0);
	signal_reset(SIGINT);
	signal_reset(SIGQUIT);
}

/* Returns a pidfd of the caller PARENT, or -1 if that has just died.
 * PR_SET_PDEATHSIG would come when the caller's thread ends: prctl(2). */
static int
open_parent(struct run *run, pid_t parent)
{
	const int fd = pidfd_open(parent);

	if (parent == 0) { /* as in "docker exec" */
		message("--die-with-parent: the caller is in another PID "
		        "namespace, and cannot be watched");
		refuse(run, "--die-with-parent");
	}
	if (fd == -1 && errno != ESRCH)
		die(run, "--die-with-parent: cannot watch the caller");
	return getppid() == parent ? fd : -1; /* it may be another's PID */
}

/* Makes what both watchers need, before the supervisor is forked. */
static void
prepare(struct run *run)
{
	extern char end[]; /* end(3) */
	siginfo_t older;
	pid_t child;

	for (enum clock i = 0; i < CLOCK_COUNT; i++)
		run->due[i] = NEVER;
	run->paused_at = NEVER;
	run->parent_fd = run->reader_fd = -1;
	if (run->options.keep != NULL)
		run->tree.keep = strchr(run->options.keep, '=') + 1;
	if (run->options.leads_group && !run->options.foreground)
		lead_background();
	run->callers_group = getpgrp();
	run->front = getpid();
	run->caller = getppid();
	/* Behind this program's variables, where it takes fewer page tables. */
	run->facts =
	    mmap(&end[PAGE_MAX], sizeof(*run->facts), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->facts == MAP_FAILED)
		die(run, "no memory");
	run->facts->outcome = (struct outcome){ OUTCOME_EXIT, STATUS_FAILED };
	run->facts->tree_is_empty = true;
	run->facts->started_at = duration_of_clock(CLOCK_REALTIME);
	run->target = &run->facts->target;
	run->output.facts = &run->facts->output;
	runid_make(run->facts->id, run->facts->id_variable, run->front);
	/* These may hang in a file system: signals are not blocked yet. */
	if (run->options.report != NULL &&
	    report_open(&run->report, run->options.report) == -1)
		_exit(STATUS_FAILED);
	if (run->options.die_with_parent)
		run->parent_fd = open_parent(run, run->caller);
	if (run->options.die_with_reader)
		run->reader_fd = STDOUT_FILENO;
	if (resources_prepare(run) == -1)
		refuse(run, "the run cannot be put on record");
	if (output_setup(&run->output, &run->options) == -1)
		refuse(run, "the output cannot be set up");
	target_prepare(run);

	run->signal_fd = signals_open();
	if (run->signal_fd == -1)
		die(run, "cannot open a signalfd");
	/* As bash leaves one for "wdrun cmd > >(tee log)": see kill_tree(). */
	while ((child = wait_peek(ANY_CHILD, WEXITED, &older)) > 0)
		;
	run->had_children = child != CHILD_NONE_LEFT;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		die(run, "cannot become a subreaper");

	/* Last: the failures above exit without releasing a lock. */
	if (resources_acquire(run) == -1) {
		report_write(run);
		end_front(run);
	}
}

/* Gives up what this watcher has inherited, but stderr and what it needs. */
static void
detach(struct run *run, bool is_front)
{
	int keep[4 + OUTPUT_FDS + RESOURCE_FDS + LOCKED_FDS];

	memset(keep, -1, sizeof(keep));
	keep[0] = run->signal_fd;
	keep[1] = run->parent_fd;
	keep[2] = procfs_fd();
	if (!is_front)
		keep[3] = run->reader_fd;
	output_keep(&run->output, is_front, &keep[4]);
	resources_keep(run, &keep[4 + OUTPUT_FDS]);
	if (is_front)
		front_keep_locked(&keep[4 + OUTPUT_FDS + RESOURCE_FDS]);
	fds_release(keep, sizeof(keep) / sizeof(keep[0]));
}

/* --- the supervisor ------------------------------------------------------- */

/* Notes the first reason for a stop, of which the outcome is made. */
static void
begin_stop(struct run *run, enum reason why, int64_t now)
{
	supervisor_keep(run);
	clocks_resume(run, now);
	run->due[CLOCK_HEARTBEAT] = NEVER;
	if (run->facts->reason != REASON_NONE)
		return;
	tree_take_priority(); /* for the look, too */
	run->facts->reason = why;
	if (run->target->shares_group
	        ? terminal_is_changed(&run->output.terminal)
	        : run->output.has_pty &&
	              terminal_has_screen(run->output.fds[STDOUT_FILENO]))
		message_hold();
	supervisor_tell_phase(run, PHASE_STOP);
}

/* Sets the clocks of --survivors=kill. With wait, only --timeout bounds the
 * survivors; with leave, the run is over. */
static void
begin_lingering(struct run *run, int64_t now)
{
	run->due[CLOCK_IDLE] = run->due[CLOCK_SAMPLE] = NEVER;
	if (run->options.survivors != SURVIVORS_KILL)
		return;
	run->due[CLOCK_IDLE] = duration_add(now, run->options.idle_after_exit);
	run->due[CLOCK_MAX_AFTER_EXIT] =
	    duration_add(now, run->options.max_after_exit);
	run->activity.since = 0;
	if (run->options.idle_after_exit != NEVER)
		run->due[CLOCK_SAMPLE] = now;
}

/* Sends the first signal of a stop. Returns how many processes got it. */
static size_t
stop_tree(struct run *run, enum reason why)
{
	const bool is_cancel = why == REASON_CANCELLED;
	const int signal = is_cancel ? run->cancel_signal : run->options.signal;
	const int64_t now = duration_now();

	clocks_bound_stop(run, now);
	/* Without SIGKILL to come, --timeout ends what ignores a cancel. */
	if (!is_cancel || run->due[CLOCK_KILL] != NEVER)
		run->due[CLOCK_TIMEOUT] = NEVER;
	run->due[CLOCK_ORPHANS] = now + MILLISECOND;
	run->tree.group_has_signal |= run->facts->has_signalled && !is_cancel;
	/* Beside a tree that leaves little of the processors to this process,
	 * SIGKILL does not wait for the rest of the first signals. */
	const size_t count =
	    tree_signal(&run->tree, signal,
	                duration_add(run->due[CLOCK_KILL], SIGNAL_TIME));

	tell_signal(run, signal);
	return count;
}

/* Kills the tree. Returns how many of its dead had died by SIGKILL. */
static size_t
kill_tree(struct run *run)
{
	struct tree *const tree = &run->tree;

	if (run->has_taken_over && run->had_children) {
		/* Their orphans come here, too: so only what is proven to be of
		 * the run is killed. */
		reap_own_run(run->facts->id, run->supervisor, tree->keep);
		tree_reap(tree);
		tree_read(tree, duration_now() + LOOK_BOUND);
		run->facts->tree_is_empty = tree_is_empty(tree);
	} else {
		run->facts->tree_is_empty = tree_kill(tree);
	}
	tell_signal(run, SIGKILL);
	supervisor_reap(run, duration_now());
	return tree->killed;
}

/* Changes the state because of WHY: looks, acts, counts, tells. The look comes
 * before the first signal, while processes still are as they hung. */
static void
enter(struct run *run, enum reason why, int64_t now)
{
	const enum state from = run->state;
	const enum state next = reasons[why].next;
	const bool is_stop = next == STATE_STOPPING || next == STATE_KILLING;
	size_t count = why == REASON_LAST_BOUND ? run->tree.count : 0;

	if (is_stop)
		begin_stop(run, why, now);

	const size_t seen = tell_look(run, why);

	run->state = next;
	if (next == STATE_LINGERING)
		begin_lingering(run, now);
	if (next == STATE_STOPPING)
		count = stop_tree(run, why);
	if (next == STATE_KILLING)
		count = kill_tree(run);
	/* It tells of as many as it shows: parents may have reaped some. */
	if (seen > 0 && !run->facts->look.is_partial)
		count = seen;
	if (is_stop && run->facts->killed < count &&
	    (next == STATE_KILLING || run->tree.signal == SIGKILL))
		run->facts->killed = count;
	/* A front that takes over finds fewer than the supervisor signalled. */
	if (is_stop && run->facts->stopped == 0)
		run->facts->stopped = count;
	tell_change(run, from, why, count);
}

/* The life of a run, whose target was just started. */
static void
supervise(struct run *run)
{
	const int64_t started = duration_now();
	/* Look first: of a death before PR_SET_PDEATHSIG no signal comes. */
	int64_t until = started;

	run->facts->output.started = started;
	run->facts->output.heard_ms = (unsigned)(started / MILLISECOND);
	run->facts->output.is_started = true;
	run->due[CLOCK_TIMEOUT] = duration_add(started, run->options.timeout);
	if (!run->options.quiet)
		run->due[CLOCK_HEARTBEAT] =
		    duration_add(started, run->options.heartbeat);

	while (run->state != STATE_DONE) {
		const int64_t now = supervisor_wait(run, until);
		enum reason why;

		/* An event may give reasons for several changes. */
		while ((why = decide(run, now)) != REASON_NONE)
			enter(run, why, now);
		until = next_due(run);
	}
}

/* Reaps all children, and makes the outcome. From now on no signal is sent:
 * PIDs may be reused. */
static void
finish(struct run *run)
{
	siginfo_t info;

	while (wait_peek(ANY_CHILD, WEXITED, &info) > 0)
		;
	run->facts->cpu = wait_usage(&run->facts->memory);
	run->facts->ended = duration_now();
	run->facts->outcome = run_outcome(run);
}

/* After a stop. A command that has ended by itself chose its modes. */
static void
tidy_terminal(const struct run *run)
{
	if (run->target->shares_group && !run->target->exited_by_itself)
		terminal_restore(&run->output.terminal, run->callers_group,
		                 run->caller);
	if (run->output.had_screen && !run->target->exited_by_itself)
		terminal_reset_screen(&run->output.terminal);
	message_release();
}

static _Noreturn void
be_supervisor(struct run *run)
{
	if (getppid() == 0) { /* of another PID namespace */
		run->facts->refusal = "the command would be in another PID "
		                      "namespace: unshare --pid needs --fork";
		message("%s", run->facts->refusal);
	} else if (supervisor_start(run) == -1) {
		run->facts->exec_error = errno;
	} else {
		detach(run, false);
		supervise(run);
	}
	finish(run);
	/* From here on, a front that loses us only does the rest of this. */
	supervisor_tell_phase(run, PHASE_END);
	resources_release(run);
	if (getppid() != 0 && !supervisor_has_front(run)) {
		terminal_give_back(&run->output.terminal, true);
		tidy_terminal(run);
		report_write(run);
	}
	output_take_foreground(&run->output);
	_exit(0);
}

/* --- the front ------------------------------------------------------------ */

/* Kills the tree in place of a killed supervisor, whose orphans come here. */
static void
take_over(struct run *run)
{
	enum reason why;

	run->has_taken_over = true;
	if (run->tree.keep != NULL)
		run->tree.spares = run->tree.keeps_leaders = true;
	/* One that has exited may be reaped: its PID may be another's. */
	run->tree.target = run->target->has_exited ? 0 : run->target->pid;
	enter(run, REASON_SUPERVISOR_LOST, duration_now());
	while ((why = decide(run, duration_now())) != REASON_NONE)
		enter(run, why, duration_now());
	finish(run);
}

static _Noreturn void
leave(struct run *run)
{
	resources_release(run);
	terminal_give_back(&run->output.terminal, true);
	front_drain(run);
	/* As a write error makes a program fail: "pg_dump >file && rm old". */
	if (run->facts->output.stdout_is_lost &&
	    run->facts->outcome.kind == OUTCOME_EXIT &&
	    run->facts->outcome.value == 0)
		run->facts->outcome.value = STATUS_FAILED;
	tidy_terminal(run);
	if (run->facts->exec_error != 0)
		target_tell_failure(run);
	else
		tell_end(run);
	report_write(run);
	end_front(run);
}
