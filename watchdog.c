/*
 * wdrun: runs a command, and ends it together with all that it has started.
 *
 * Two processes watch a run. The front is the process that the caller started:
 * it takes the caller's signals, carries output and keys, and ends as the
 * command did. The supervisor is the command's parent, and a subreaper, to
 * which orphans come: it decides, signals and reaps. They share memory, the
 * facts (run/run.h), and a signal has the other look there.
 *
 * supervise() is the life of a run: it sleeps until something happens or a
 * clock is due; decide() gives the reason for the next change of state, if
 * there is one; enter() makes the change. What that means:
 *
 * - Ctrl-C at a prompt: the terminal signals the whole job, and so the command,
 *   whose choice it is what follows. What the front passes on is dropped.
 * - SIGINT, SIGTERM and the like from elsewhere cancel the run: the tree gets
 *   the same signal, and SIGKILL after --kill-after, or at the third signal.
 * - SIGKILL of the front: PR_SET_PDEATHSIG has the supervisor kill the tree.
 * - SIGKILL of the supervisor: PR_SET_PDEATHSIG kills the command; wdrun dies
 *   as it did. The rest comes to the front, a subreaper too, which kills it.
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
#include <signal.h>
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
static bool watch_supervisor(struct run *run);
static void take_over(struct run *run);
static void finish(struct run *run);
static _Noreturn void leave(struct run *run);
static _Noreturn void end_front(const struct run *run);
static void supervise(struct run *run);
static void attend(struct run *run, int64_t now);
static void enter(struct run *run, enum reason why, int64_t now);
static void begin_stop(struct run *run, enum reason why, int64_t now);
static void begin_lingering(struct run *run, int64_t now);
static size_t stop_tree(struct run *run, enum reason why);
static size_t kill_tree(struct run *run);

#define PATIENCE        (10 * SECOND) /* beyond the supervisor's deadline */
#define SIGNAL_TIME     (50 * MILLISECOND) /* at least, even with -k 0 */
#define PAGE_MAX        65536              /* bytes */
#define SAMPLE_INTERVAL (250 * MILLISECOND)

/* Before anything is started or locked. */
static _Noreturn void
die(const char *what)
{
	message("%s: %s", what, strerror(errno));
	_exit(STATUS_FAILED);
}

/* Has ARGV point to a copy in TEXT: the supervisor overwrites the words. */
static void
copy_words(struct run *run, char *text, char *argv[])
{
	char *const name = program_invocation_short_name;

	memcpy(text, run->words, run->words_size);
	for (; *argv != NULL; argv++)
		*argv = text + (*argv - run->words);
	program_invocation_short_name = text + (name - run->words);
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
		die("cannot open /dev/null");
	if (procfs_start() == -1)
		die("cannot open /proc");
	/* Without a COMMAND: acts on the runs on record. */
	if (run.options.list)
		return list_print(run.options.registry, run.options.as_json,
		                  run.options.quiet);
	if (run.options.reap)
		return reap_all(run.options.registry, run.options.quiet);
	if (run.options.cancel != NULL)
		return cancel_run(run.options.registry, run.options.cancel,
		                  run.options.quiet);

	prepare(&run);
	run.target->early_signals = signals_pending(); /* see target.c */
	run.watchers.supervisor = plain_fork();
	if (run.watchers.supervisor == -1) {
		run.facts->exec_error = errno;
		run.watchers.supervisor = 0; /* no PID of a lock */
		run.watchers.supervisor_is_dead = true;
		leave(&run);
	}
	if (run.watchers.supervisor == 0)
		be_supervisor(&run); /* does not return */

	/* From here on, we are the front. */
	detach(&run, true);
	if (run.watchers.had_children)
		tree_spare_children(&run.tree);
	if (!watch_supervisor(&run))
		take_over(&run);
	leave(&run);
}

/* Makes what both watchers need, before the supervisor is forked. */
static void
prepare(struct run *run)
{
	struct watchers *const watchers = &run->watchers;
	extern char end[]; /* end(3) */
	siginfo_t older;
	pid_t child;

	for (enum clock i = 0; i < CLOCK_COUNT; i++)
		run->due[i] = NEVER;
	run->paused_at = NEVER;
	run->parent_fd = -1;
	run->callers_group = getpgrp();
	watchers->front = getpid();
	/* Behind this program's variables, where it takes fewer page tables. */
	run->facts =
	    mmap(&end[PAGE_MAX], sizeof(*run->facts), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (run->facts == MAP_FAILED)
		die("no memory");
	run->facts->outcome = (struct outcome){ OUTCOME_EXIT, STATUS_FAILED };
	run->facts->tree_is_empty = true;
	run->target = &run->facts->target;
	run->output.facts = &run->facts->output;
	/* Not PR_SET_PDEATHSIG, which comes when the caller's thread ends:
	 * prctl(2). A caller in another PID namespace has no PID here. */
	if (run->options.die_with_parent) {
		run->parent_fd = pidfd_open(getppid());
		if (run->parent_fd == -1)
			die("--die-with-parent: cannot watch the caller");
	}
	/* A dead file system can hang these calls. So signals still end this
	 * process, until target_prepare() blocks them. */
	if (resources_prepare(run) == -1 ||
	    output_setup(&run->output, &run->options) == -1)
		_exit(STATUS_FAILED);
	target_prepare(run);

	watchers->signal_fd = -1;
	if ((run->output.count != 0 || run->parent_fd != -1) &&
	    (watchers->signal_fd = signals_open()) == -1)
		die("cannot open a signalfd");
	/* Whoever executes wdrun without a fork leaves it its children, as bash
	 * does for "wdrun cmd > >(tee log)": see kill_tree(). */
	while ((child = wait_peek(ANY_CHILD, WEXITED, &older)) > 0)
		;
	watchers->had_children = child != CHILD_NONE_LEFT;
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		die("cannot become a subreaper");
	runid_make(run->facts->id, run->facts->id_variable, watchers->front);

	/* Comes last: the failures above exit without releasing a lock. */
	if (resources_acquire(run) == -1) {
		report_write(run);
		end_front(run);
	}
}

static _Noreturn void
be_supervisor(struct run *run)
{
	if (getppid() == 0) { /* this process is in a new PID namespace */
		message("the command would be in another PID namespace: "
		        "unshare --pid needs --fork");
	} else if (supervisor_start(run) == -1) {
		run->facts->exec_error = errno;
	} else {
		detach(run, false);
		supervise(run);
		run->facts->ended = duration_now();
		run->facts->outcome = run_outcome(run);
	}
	/* From here on, a front that loses us only does the rest of this. */
	supervisor_tell_outcome(run);
	finish(run);
	resources_release(run);
	if (getppid() != 0 && !supervisor_has_front(run)) {
		terminal_give_back(&run->output.terminal, true);
		report_write(run);
	}
	_exit(0);
}

/* Gives up what this watcher has inherited, but stderr and what it needs. */
static void
detach(struct run *run, bool is_front)
{
	int keep[OUTPUT_FDS + RESOURCE_FDS + 3] = {
		run->watchers.signal_fd,
		run->parent_fd,
		procfs_fd(),
	};

	output_keep(&run->output, is_front, &keep[3]);
	resources_keep(run, &keep[3 + OUTPUT_FDS]);
	fds_release(keep, sizeof(keep) / sizeof(keep[0]));
}

/* What the front knows of the supervisor. */
struct supervisor {
	enum { RUNS, STOPS, LOOKS, ENDS } phase;
	unsigned steps;   /* of its look */
	int64_t deadline; /* for its next sign of life, or NEVER */
	int lateness;     /* how often that has passed: up to GIVEN_UP */
	unsigned stop;    /* of the facts, as last obeyed */
};

/* A look takes a step in 8 waits of 250 ms: not in 2 s, in which both watchers
 * may have been stopped. Elsewhere the supervisor has a single wait. */
#define LOOK_WAIT (250 * MILLISECOND)
enum { LATE = 8, KILLED, GIVEN_UP };

static int64_t
end_of_stop(const struct run *run)
{
	return duration_add(
	    duration_add(duration_now(), run->options.kill_after),
	    TREE_KILL_BOUND);
}

/* Looks for a sign that the supervisor lives, and gives it a new deadline then.
 * After its outcome, it has PATIENCE for the files of the run. */
static void
look_at_facts(const struct run *run, struct supervisor *known)
{
	const struct facts *const facts = run->facts;
	const int64_t now = duration_now();
	const unsigned steps = facts->look.steps;
	const int phase = facts->has_outcome             ? ENDS
	                  : facts->is_looking            ? LOOKS
	                  : facts->reason != REASON_NONE ? STOPS
	                                                 : RUNS;

	/* A step comes too late when the front has sent the first signal. */
	if (phase != (int)known->phase ||
	    (steps != known->steps && known->lateness < LATE)) {
		known->lateness = phase == LOOKS ? 0 : LATE - 1;
		known->deadline = phase == ENDS    ? now
		                  : phase == LOOKS ? now + LOOK_WAIT
		                                   : end_of_stop(run);
	}
	known->phase = phase;
	known->steps = steps;
	/* A look that hangs does not take the third signal. */
	if (phase == LOOKS && facts->cancels >= CANCELS_MAX &&
	    (known->lateness < LATE ||
	     (known->lateness == LATE && known->deadline > now + SECOND))) {
		known->lateness = LATE;
		known->deadline = now + SECOND;
	}
}

/* Only the supervisor reaps the target: so before it has noted an exit, the PID
 * is the target's. */
static void
signal_target(struct run *run, int signal)
{
	run->tree.target = run->target->pid;
	if (run->tree.target != 0 && !run->target->has_exited)
		tree_signal_target(&run->tree, signal);
}

/* The supervisor is late. Where its look hangs, the front sends the first
 * signal itself, and --kill-after runs. Else the supervisor hangs in a file
 * system, or in a debugger. It has more time, as both watchers may have been
 * stopped, by a freezer, say; then it is killed, and then given up. */
static void
end_late_supervisor(struct run *run, struct supervisor *known)
{
	const int64_t now = duration_now();

	known->lateness++;
	known->deadline = now + (known->lateness < LATE ? LOOK_WAIT : PATIENCE);
	if (known->lateness == LATE && known->phase == LOOKS) {
		known->deadline = duration_add(now, run->options.kill_after);
		run->facts->has_signalled = true;
		if (!run->options.quiet)
			message("%s; the look at its processes hangs: "
			        "sending %s",
			        reasons[run->facts->reason].words,
			        signal_name(run->options.signal));
		signal_target(run, run->options.signal);
		signal_target(run, SIGCONT);
	}
	if (known->lateness == KILLED) {
		if (!run->options.quiet)
			message("the supervisor (PID %d) does not answer, "
			        "killing it",
			        run->watchers.supervisor);
		/* It is not reaped yet. */
		(void)kill(run->watchers.supervisor, SIGKILL);
	}
}

/* Reaps orphans, if this is PID 1, and children from before wdrun's exec. Not
 * beyond a dead supervisor or target, whose status is wanted. */
static void
reap_others(const struct run *run)
{
	siginfo_t info;
	pid_t child;

	while ((child = wait_peek(ANY_CHILD, WEXITED | WNOWAIT, &info)) > 0 &&
	       child != run->watchers.supervisor &&
	       (child != run->target->pid || run->target->has_exited))
		(void)wait_peek(child, WEXITED, &info);
}

/* Passes signals on, carries output and keys, stops and goes on with the job,
 * until the supervisor is dead, which is killed if it is late. Returns whether
 * there is an outcome, or it is given up; if not, its orphans are now ours. */
static bool
watch_supervisor(struct run *run)
{
	const struct facts *const facts = run->facts;
	bool *const is_dead = &run->watchers.supervisor_is_dead;
	struct supervisor known = {
		.deadline =
		    duration_add(end_of_stop(run), run->options.timeout),
		.lateness = LATE - 1,
	};

	run->output.quiet_since = duration_now();
	terminal_take(&run->output.terminal);
	while (!*is_dead && known.lateness < GIVEN_UP) {
		siginfo_t info;

		const int64_t wait = front_carry(run, known.deadline);
		const int signal = signals_take(SIGNALS_ALL, &info, wait);

		if (signal == SIGCHLD) {
			*is_dead = wait_peek(run->watchers.supervisor, WEXITED,
			                     &info) > 0;
			reap_others(run);
		} else if (signal != -1 && front_pass_on(run, &info)) {
			const int64_t end = end_of_stop(run);

			/* NEVER for timeout(1), which may pass signals on. */
			if (end < known.deadline)
				known.deadline = end;
		}
		if (known.stop != facts->stop && !*is_dead) {
			known.stop = facts->stop;
			if (known.stop != 0)
				known.deadline =
				    duration_add(known.deadline,
				                 front_stop(run, known.stop));
		}
		look_at_facts(run, &known);
		if (duration_now() >= known.deadline && !*is_dead)
			end_late_supervisor(run, &known);
	}

	const bool is_over = facts->has_outcome || !*is_dead;

	/* It may hang in resources_release(), where this process would, too. */
	if (known.lateness >= KILLED && is_over)
		run->facts->is_released = true;
	/* With SIGKILL pending, the supervisor does not reap: so a target that
	 * lives keeps its PID. The rest, its children, is out of reach. */
	if (!*is_dead && !facts->has_outcome)
		signal_target(run, SIGKILL);
	return is_over;
}

/* Kills the tree in place of a killed supervisor, whose orphans come here. */
static void
take_over(struct run *run)
{
	enum reason why;

	run->watchers.has_taken_over = true;
	/* See watch_look(). A target that has exited may be reaped. */
	run->tree.target = run->target->has_exited ? 0 : run->target->pid;
	enter(run, REASON_SUPERVISOR_LOST, duration_now());
	while ((why = decide(run, duration_now())) != REASON_NONE)
		enter(run, why, duration_now());
	finish(run);
	run->facts->outcome = run_outcome(run);
}

/* Reaps all children. From now on no signal is sent: PIDs may be reused. */
static void
finish(struct run *run)
{
	siginfo_t info;

	while (wait_peek(ANY_CHILD, WEXITED, &info) > 0)
		;
	run->facts->cpu = wait_usage(&run->facts->memory);
}

static _Noreturn void
leave(struct run *run)
{
	resources_release(run);
	terminal_give_back(&run->output.terminal, true);
	front_drain(run);
	/* A command that shared the terminal and exited chose its modes. */
	if (run->target->shares_group && !run->target->exited_by_itself)
		terminal_restore(&run->output.terminal);
	if (run->facts->exec_error != 0)
		command_tell_failure(
		    run->options.command[0], run->facts->exec_error,
		    run->facts->interpreter, run->options.is_timeout);
	else
		tell_end(run);
	report_write(run);
	end_front(run);
}

/* Ends this process as the outcome says. */
static _Noreturn void
end_front(const struct run *run)
{
	const struct outcome outcome = run->facts->outcome;

	if (outcome.kind != OUTCOME_SIGNAL)
		_exit(outcome.value);
	/* On this terminal, a key would have reached the rest of the job. */
	if (run->output.terminal.is_keyboard && run->callers_group > 1 &&
	    run->target->exited_by_itself &&
	    (outcome.value == SIGINT || outcome.value == SIGQUIT))
		(void)kill(-run->callers_group, outcome.value);
	signal_die_by(outcome.value);
}

/* The life of a run, whose target was just started: sets the clocks; then
 * sleep, look, decide, act, until it is done. */
static void
supervise(struct run *run)
{
	const int64_t started = duration_now();

	run->facts->output.started = started;
	run->facts->output.heard_ms = (unsigned)(started / MILLISECOND);
	run->facts->output.is_started = true;
	run->due[CLOCK_TIMEOUT] = duration_add(started, run->options.timeout);
	if (!run->options.quiet)
		run->due[CLOCK_HEARTBEAT] =
		    duration_add(started, run->options.heartbeat);
	if (run->options.idle_unless_busy)
		(void)supervisor_sees_progress(run);

	while (run->state != STATE_DONE) {
		const int64_t now = supervisor_wait(run, next_due(run));
		enum reason why;

		attend(run, now);
		/* An event may give reasons for several changes. */
		while ((why = decide(run, now)) != REASON_NONE)
			enter(run, why, now);
	}
}

/* Looks what has happened until NOW, and attends to clocks without a reason. */
static void
attend(struct run *run, int64_t now)
{
	int64_t *const due = run->due;

	supervisor_look_at_children(run, now);
	supervisor_follow_target(run, now);
	/* Orphans come here: so "no child" proves that the tree is empty. */
	if (run->target->has_exited && !run->facts->tree_is_empty)
		run->facts->tree_is_empty = !wait_has_living(ANY_CHILD);
	if (run->facts->tree_is_empty)
		return;
	/* Progress puts --idle-after-exit off. */
	if (run->state == STATE_LINGERING && run->paused_at == NEVER &&
	    (now >= due[CLOCK_SAMPLE] || now >= due[CLOCK_IDLE_AFTER_EXIT])) {
		if (supervisor_sees_progress(run))
			due[CLOCK_IDLE_AFTER_EXIT] =
			    duration_add(now, run->options.idle_after_exit);
		due[CLOCK_SAMPLE] = duration_add(now, SAMPLE_INTERVAL);
	}
	tell_heartbeat(run, now);
}

/* Changes the state because of WHY: looks, acts, counts, tells. A stop that
 * wdrun itself decides is told with what each process waits for. The look comes
 * before the first signal, while they still are as they hung. */
static void
enter(struct run *run, enum reason why, int64_t now)
{
	const enum state from = run->state;
	size_t count = why == REASON_LAST_BOUND ? run->tree.count : 0;

	if (reason_is_stop(why))
		begin_stop(run, why, now);

	const size_t seen = tell_look(run, why);

	run->state = reasons[why].next;
	if (run->state == STATE_LINGERING)
		begin_lingering(run, now);
	if (run->state == STATE_STOPPING)
		count = stop_tree(run, why);
	if (run->state == STATE_KILLING)
		count = kill_tree(run);
	/* A dying parent may reap its child before we count it; and a stop
	 * tells of as many as it shows. */
	if (seen > count || (seen > 0 && run->state == STATE_STOPPING &&
	                     !run->facts->look.is_partial))
		count = seen;
	if ((run->state == STATE_KILLING ||
	     (run->state == STATE_STOPPING && run->tree.signal == SIGKILL)) &&
	    run->facts->killed < count)
		run->facts->killed = count;
	/* A front that takes over finds fewer than the supervisor signalled. */
	if (reason_is_stop(why) && run->facts->stopped == 0)
		run->facts->stopped = count;
	tell_change(run, from, why, count);
}

/* Notes the first reason for a stop, on which the outcome depends, and has the
 * front know, which bounds the stop. */
static void
begin_stop(struct run *run, enum reason why, int64_t now)
{
	tree_take_priority(); /* for the look, too */
	clocks_resume(run, now);
	run->due[CLOCK_HEARTBEAT] = NEVER;
	if (run->facts->reason != REASON_NONE)
		return;
	run->facts->reason = why;
	if (!run->watchers.has_taken_over)
		(void)prctl(PR_SET_NAME, SUPERVISOR_STOPPING, 0, 0, 0);
	supervisor_signal_front(run, SIGCHLD);
}

/* Sets the clocks of --survivors=kill. With wait, only --timeout bounds the
 * survivors; with leave, the run is over. */
static void
begin_lingering(struct run *run, int64_t now)
{
	if (run->options.survivors != SURVIVORS_KILL)
		return;
	run->due[CLOCK_IDLE_AFTER_EXIT] =
	    duration_add(now, run->options.idle_after_exit);
	run->due[CLOCK_MAX_AFTER_EXIT] =
	    duration_add(now, run->options.max_after_exit);
	if (run->options.idle_after_exit != NEVER)
		run->due[CLOCK_SAMPLE] = now; /* to compare with */
}

/* Sends the first signal of a stop, and sets when SIGKILL follows. Returns how
 * many processes got the signal. */
static size_t
stop_tree(struct run *run, enum reason why)
{
	const bool is_cancel = why == REASON_CANCELLED;
	const int signal = is_cancel ? run->cancel_signal : run->options.signal;
	const int64_t now = duration_now();

	clocks_bound_stop(run, now); /* sets CLOCK_KILL */
	/* The command may ignore a cancel: without SIGKILL to come, --timeout
	 * stays due. */
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

	if (run->watchers.has_taken_over && run->watchers.had_children) {
		/* Orphans of those children have come here, too: so only what
		 * is proven to be of the run is killed. */
		reap_own_run(run->facts->id, run->watchers.supervisor);
		tree_reap(tree);
		tree_read(tree, duration_now() + LOOK_BOUND);
		run->facts->tree_is_empty =
		    tree->count == 0 && !tree->is_partial;
	} else {
		run->facts->tree_is_empty = tree_kill(tree);
	}
	tell_signal(run, SIGKILL);
	supervisor_reap(run, duration_now());
	return tree->killed;
}
