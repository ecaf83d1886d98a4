/* wdrun: runs a command, and ends it together with all that it has started. */
#include "watchdog.h"

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "cli/options.h"
#include "io/output.h"
#include "io/tty.h"
#include "io/tty_input.h"
#include "proc/helper.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/signals.h"
#include "proc/tree.h"
#include "proc/wait.h"
#include "registry/registry.h"
#include "run/decide.h"
#include "run/forward.h"
#include "run/front.h"
#include "run/heartbeat.h"
#include "run/jobcontrol.h"
#include "run/output_watch.h"
#include "run/parent.h"
#include "run/reason.h"
#include "run/report.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/statuspipe.h"
#include "run/supervisor.h"
#include "run/target.h"
#include "run/teardown.h"
#include "run/tell.h"

static int check_stack(void);
static int serve(const struct options *options);
static void prepare(struct run *run);
static _Noreturn void be_supervisor(struct run *run);
static void start_timers(struct run *run, int64_t now);
static struct outcome take_over(struct run *run);
static _Noreturn void abandon(struct run *run);
static _Noreturn void leave(struct run *run, struct outcome outcome);
static void leave_terminal(struct run *run);
static void supervise(struct run *run);
static void get_ready(struct run *run);
static void enter(struct run *run, enum reason why, int64_t since);
static size_t begin_state(struct run *run, enum reason why, size_t found);
static void note_stop(struct run *run, enum reason why);
static size_t stop_tree(struct run *run, enum reason why, int64_t now);
static void finish(void);
static void wake_front(struct run *run);
static _Noreturn void die(const char *what);

#define KIB          1024
#define SIGNAL_TIME  (50 * MILLISECOND) /* at least, even with -k 0 */
#define READY_TIME   SECOND
#define STACK_NEEDED ((rlim_t)96 * KIB) /* by the deepest calls */

static const struct outcome failure = { OUTCOME_EXIT, STATUS_FAILED };

int
main(int argc, char *argv[])
{
	/* Static: on the stack, RUN could cost each fork a page more. */
	static struct run run;
	struct outcome outcome;
	const int status = options_read(&run.options, argc, argv);

	/* Not by an initializer: the binary would have all of RUN. */
	run.watchers.lifeline[0] = run.watchers.lifeline[1] = -1;
	run.watchers.statuspipe[0] = run.watchers.statuspipe[1] = -1;
	run.watchers.signal_fd = run.watchers.null_fd = run.parent.fd = -1;
	run.tree_is_empty = true;

	if (status != OPTIONS_ARE_COMPLETE)
		return status; /* also of --help and --version */
	if (procfs_start() == -1)
		die("cannot open /proc");
	if (check_stack() == -1)
		return STATUS_FAILED;
	if (run.options.list || run.options.reap || run.options.cancel != NULL)
		return serve(&run.options);

	prepare(&run);
	/* Not fork(3), whose handlers and locks cost system calls and pages. */
	run.watchers.supervisor = _Fork();
	if (run.watchers.supervisor == -1) {
		message("cannot start the supervisor: %s", strerror(errno));
		leave(&run, failure);
	}
	if (run.watchers.supervisor == 0)
		be_supervisor(&run); /* does not return */

	/* From here on this process is the front. */
	if (output_start(&run.output) == -1)
		abandon(&run);
	if (!front_watch(&run, &outcome))
		outcome = take_over(&run);
	leave(&run, outcome);
}

/* Refuses a stack on which the deepest calls would crash: a crashed watcher
 * leaves its locks behind. USED counts twice, since target.c copies the
 * environment's pointers, which lie with their strings above this frame. */
static int
check_stack(void)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
	const rlim_t used = getauxval(AT_EXECFN) - frame;
	const rlim_t needed = 2 * used + STACK_NEEDED;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == -1 || limit.rlim_cur >= needed)
		return 0;
	message("a stack of %zu KiB is too small: %zu are needed (ulimit -s)",
	        (size_t)limit.rlim_cur / KIB, (size_t)needed / KIB + 1);
	return -1;
}

/* Acts on the runs on record, without a COMMAND. Returns the exit status. */
static int
serve(const struct options *options)
{
	if (options->list)
		return list_print(options->registry, options->as_json,
		                  options->quiet);
	if (options->reap)
		return reap_all(options->registry, options->quiet);
	return cancel_run(options->registry, options->cancel, options->quiet);
}

/* Makes what both watchers need, before the supervisor is forked. */
static void
prepare(struct run *run)
{
	struct outcome outcome;
	siginfo_t older;

	timers_init(&run->timers);
	run->watchers.front = getpid();
	run->watchers.null_fd = fds_open_null();
	if (run->watchers.null_fd == -1)
		die("cannot open /dev/null");
	/* A dead file system can hang these calls. So signals still end this
	 * process, until target_prepare(), the last call, blocks signals. */
	if (resources_prepare(run) == -1 || output_watch_prepare(run) == -1 ||
	    target_prepare(run) == -1)
		_exit(STATUS_FAILED);

	if (pipe2(run->watchers.lifeline, O_CLOEXEC) == -1 ||
	    statuspipe_open(run->watchers.statuspipe) == -1)
		die("cannot make a pipe");
	/* A program that executes wdrun without a fork leaves it its children,
	 * and then their orphans would come to a subreaper: the front could not
	 * tell them from the run's. */
	run->watchers.has_older_children =
	    wait_peek(ANY_CHILD, WEXITED | WNOWAIT | __WALL, &older) !=
	    CHILD_NONE_LEFT;
	if (!run->watchers.has_older_children &&
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		die("cannot become a subreaper");
	if (parent_watch(run) == -1)
		_exit(STATUS_FAILED);
	runid_make(run->id, run->watchers.front);

	/* Comes last: the failures above exit without releasing a lock. */
	if (resources_acquire(run, &outcome) == -1) {
		teardown_report(run, outcome);
		front_end(outcome);
	}
}

/* The supervisor's life. */
static _Noreturn void
be_supervisor(struct run *run)
{
	struct outcome outcome = failure;
	struct event event;

	if (supervisor_prepare(run) == -1) {
		message("cannot set up the supervisor: %s", strerror(errno));
	} else if (target_start(run) == -1) {
		message("cannot start the command: %s", strerror(errno));
	} else {
		const int64_t now = duration_now();

		supervisor_detach(run);
		start_timers(run, now);
		supervise(run);
		outcome = run_outcome(run);
	}
	/* Once the front has the outcome, the front may end and write the
	 * report: note the facts before, and all CPU time after finish(). */
	teardown_note_tree(run);
	report_note_end(run);
	supervisor_tell(run, &(struct statuspipe){ .outcome = outcome });
	finish();
	report_note_end(run);
	if (run->options.verbose && run->target.started != 0)
		statuspipe_send(
		    run->watchers.statuspipe[1],
		    &(struct statuspipe){ .usage = report_measure(run) });
	teardown(run);
	wake_front(run);
	supervisor_wait(run, 0, &event); /* notes whether the front is lost */
	if (run->watchers.front_is_lost) {
		teardown_report(run, outcome);
		leave_terminal(run);
	}
	_exit(0);
}

/* Sets the timers of a run whose target was started at NOW. */
static void
start_timers(struct run *run, int64_t now)
{
	run->target.started = now;
	run->timers.due[TIMER_TIMEOUT] =
	    duration_add(now, run->options.timeout);
	run->timers.due[TIMER_READY] = duration_add(
	    now, run->options.timeout - (run->options.timeout / 2 < READY_TIME
	                                     ? run->options.timeout / 2
	                                     : READY_TIME));
	report_note_start(run, now);
	output_watch_begin(run, now);
	heartbeat_begin(run, now);
}

/* Kills the tree in place of a killed supervisor, whose orphans are now the
 * front's children. Returns the outcome. */
static struct outcome
take_over(struct run *run)
{
	enter(run, REASON_SUPERVISOR_LOST, duration_now());
	supervise(run);

	teardown_note_tree(run);
	finish();
	report_note_end(run);
	return run_outcome(run);
}

/* Ends the run, since the front cannot fork a relay. */
static _Noreturn void
abandon(struct run *run)
{
	struct outcome outcome;

	message("cannot start a relay: %s", strerror(errno));
	run->options.quiet = true; /* print nothing more */
	run->output.config.quiet = true;
	/* The supervisor is not reaped yet, so the PID is its own. */
	(void)kill(run->watchers.supervisor, SIGKILL);
	if (!front_watch(run, &outcome))
		(void)take_over(run);
	leave(run, failure); /* whatever the outcome was */
}

/* Ends the front, after the end of the run. */
static _Noreturn void
leave(struct run *run, struct outcome outcome)
{
	/* The supervisor hung in the teardown: this process would, too. */
	if (!run->watchers.is_given_up)
		teardown(run);
	output_end(&run->output);
	teardown_report(run, outcome);
	leave_terminal(run);
	tell_end(run, &run->usage, outcome);
	front_end(outcome);
}

/* Restores the modes of the caller's terminal, except after a command that
 * shared the terminal and exited by itself: the command chose these modes. */
static void
leave_terminal(struct run *run)
{
	tty_input_restore(&run->output.tty_input);
	if (!run->target.shares_group || run->stop == REASON_NONE ||
	    run->target.exited_by_itself)
		return;
	tty_restore(&run->tty);
}

/* The life of a run: look, decide, act, sleep, until it is done. */
static void
supervise(struct run *run)
{
	struct event event = { .now = duration_now() };
	int64_t deadline = NEVER;

	for (;;) {
		bool has_changed = false;

		supervisor_attend(run, &event);
		if (timers_is_due(&run->timers, TIMER_READY, event.now))
			get_ready(run);

		/* An event may give reasons for several changes. */
		for (;;) {
			const enum reason why = decide(run, event.now);
			const enum state next = state_next(run->state, why);

			/* A timeout after a cancel signals again. */
			if (next == run->state && why != REASON_TIMEOUT)
				break; /* nothing to do, or done already */
			enter(run, why,
			      deadline < event.now ? deadline : event.now);
			has_changed = true;
		}
		if (run->state == STATE_DONE)
			return;
		/* A change sets timers when it is attended to. */
		deadline = has_changed ? 0 : state_deadline(run);
		supervisor_wait(run, deadline, &event);
		if (has_changed)
			deadline = NEVER;
	}
}

/* Shortly before --timeout: beside a tree that leaves this process little of
 * the processors, a priority that is taken after the wake-up comes too late. */
static void
get_ready(struct run *run)
{
	priority_take();
	run->timers.due[TIMER_READY] = NEVER;
}

/* Changes the state because of WHY, for which there has been reason SINCE, and
 * does the first work of the new state. */
static void
enter(struct run *run, enum reason why, int64_t since)
{
	const enum state from = run->state;
	const bool begins_stop = reason_is_stop(why) && from < STATE_STOPPING;
	const bool has_look = tell_has_look(run, why);
	size_t found = 0;

	if (reason_is_stop(why)) {
		supervisor_begin_stop(run, duration_now());
		note_stop(run, why);
		run->timers.due[TIMER_HEARTBEAT] = NEVER;
	}

	if (has_look)
		priority_take();
	/* The look comes before the first signal, while the processes still
	 * are as they hung; but not where it would delay the signal: where this
	 * process was woken late, or the tree is large. */
	const bool is_in_time = has_look && tell_look(run, since + LOOK_BUDGET);

	if (is_in_time)
		found = run->tree.list.count;
	tell_as_timeout(run, why);
	run->state = reason_row(why)->next;
	found = begin_state(run, why, found);
	if (has_look && !is_in_time)
		(void)tell_look(run, duration_now() + 2 * LOOK_BUDGET);
	if (begins_stop)
		report_note_stop(run, found);
	tell_change(run, from, why, found);
}

/* Does the first work of the state that RUN has entered because of WHY. Returns
 * how many processes were found, FOUND before or now. */
static size_t
begin_state(struct run *run, enum reason why, size_t found)
{
	const int64_t now = duration_now();
	size_t signalled = 0;

	switch (run->state) {
	case STATE_LINGERING:
		output_watch_begin_lingering(run, now);
		break;
	case STATE_STOPPING:
		signalled = stop_tree(run, why, now);
		break;
	case STATE_KILLING:
		supervisor_kill(run);
		/* A process that SIGKILL wakes in wait4(2) looks for dead
		 * children once more, and may reap the child that has just
		 * been killed: so who was seen alive counts. */
		signalled = found > run->tree.killed ? found : run->tree.killed;
		report_note_kill(run, signalled);
		break;
	case STATE_RUNNING:
	case STATE_DONE:
		break;
	}
	return found > 0 ? found : signalled;
}

/* Notes the first reason for a stop, on which the outcome depends, and tells
 * the front, which may have to take over. */
static void
note_stop(struct run *run, enum reason why)
{
	if (run->stop != REASON_NONE)
		return;
	run->stop = why;
	supervisor_tell(
	    run, &(struct statuspipe){ .is_stopping = true,
	                               .stop = run->target.exited_by_itself
	                                           ? REASON_NONE
	                                           : why });
}

/* Sends the first signal of a stop, and sets when SIGKILL follows. Returns how
 * many processes got the signal. */
static size_t
stop_tree(struct run *run, enum reason why, int64_t now)
{
	size_t found = 0;

	supervisor_set_kill_timer(run, now);

	/* Beside a tree that leaves little of the processors to this process,
	 * SIGKILL does not wait for the rest of the first signals. */
	const int64_t until =
	    duration_add(run->timers.due[TIMER_KILL], SIGNAL_TIME);

	found = tree_signal(&run->tree,
	                    why == REASON_CANCELLED ? run->cancel.signal
	                                            : run->options.signal,
	                    until);
	run->signalled_at = now;
	run->timers.due[TIMER_REAP] = now + MILLISECOND;
	/* The command may ignore the cancel: --timeout stays due. "If timeout
	 * receives a signal and propagates it [...], this shall be treated as
	 * the first signal": POSIX.1-2024, timeout, -k. */
	run->timers.due[TIMER_AFTER_CANCEL] =
	    why == REASON_CANCELLED && !run->options.is_timeout
	        ? run->timers.due[TIMER_TIMEOUT]
	        : NEVER;
	return found;
}

/* Reaps all children, the target included. No signal is sent from now on: the
 * kernel may reuse the PIDs. */
static void
finish(void)
{
	siginfo_t info;

	while (wait_peek(ANY_CHILD, WEXITED, &info) > 0)
		;
}

/* Continues a front that was stopped with its job, so that the front ends. */
static void
wake_front(struct run *run)
{
	int64_t *const wake_at = &run->timers.due[TIMER_WAKE];
	struct event event;

	jobcontrol_end(run, duration_now());
	while (*wake_at != NEVER && !run->watchers.front_is_lost) {
		supervisor_wait(run, *wake_at, &event);
		if (event.signal == SIGCONT)
			return;
		if (event.now >= *wake_at)
			jobcontrol_wake(run, event.now);
	}
}

/* Ends this process, which has started and locked nothing yet. */
static _Noreturn void
die(const char *what)
{
	message("%s: %s", what, strerror(errno));
	_exit(STATUS_FAILED);
}
