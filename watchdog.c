/* wdrun: runs a command, and sees that it ends with all that it started. */
#include "watchdog.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "src/caller.h"
#include "src/cancel.h"
#include "src/children.h"
#include "src/console.h"
#include "src/descriptors.h"
#include "src/diagnosis.h"
#include "src/duration.h"
#include "src/enrol.h"
#include "src/fork.h"
#include "src/front.h"
#include "src/heartbeat.h"
#include "src/jobcontrol.h"
#include "src/judge.h"
#include "src/list.h"
#include "src/listener.h"
#include "src/message.h"
#include "src/narrator.h"
#include "src/options.h"
#include "src/output.h"
#include "src/plumbing.h"
#include "src/reap.h"
#include "src/report.h"
#include "src/settle.h"
#include "src/signals.h"
#include "src/supervisor.h"
#include "src/target.h"
#include "src/testament.h"
#include "src/timeout_personality.h"
#include "src/treekill.h"

static int serve(const struct options *options);
static void prepare(struct run *run);
static _Noreturn void be_supervisor(struct run *run);
static struct outcome take_over(struct run *run);
static _Noreturn void abandon(struct run *run);
static void leave_terminal(struct run *run);
static void supervise(struct run *run);
static void enter(struct run *run, enum state next, enum reason why);
static void note_stop(struct run *run, enum reason why);
static void begin(struct run *run, enum state next, enum reason why);
static void enter_lingering(struct run *run, int64_t now);
static void enter_stopping(struct run *run, enum reason why, int64_t now);
static void finish(struct run *run);
static void wake_front(struct run *run);
static _Noreturn void die(const char *what);

static const struct outcome failure = { OUTCOME_EXIT, STATUS_FAILED };

int
main(int argc, char *argv[])
{
	/* Not on the stack, where it would lie across two pages or not as
	 * chance has it; each fork copies what it lies in. */
	static struct run run = {
		.clocks = NOTHING_DUE,
		.paused_at = NEVER,
		.null_fd = -1,
		.lifeline = { -1, -1 },
		.testament = { -1, -1 },
		.caller_fd = -1,
		.signal_fd = -1,
		.narrator_fd = -1,
		.output = { .news = { -1, -1 },
		            .tee_fd = -1,
		            .copy = { -1, -1 },
		            .size_fd = -1,
		            .keyboard_fd = -1,
		            .keyboard_orders_fd = -1 },
	};
	struct outcome verdict;
	const int usage = options_read(&run.options, argc, argv);

	if (usage != OPTIONS_ARE_COMPLETE)
		return usage;

	if (run.options.mode != MODE_RUN)
		return serve(&run.options);

	prepare(&run);
	run.supervisor = process_fork();
	if (run.supervisor == -1) {
		report_note_end(&run, failure);
		settle_at_once(&run);
		die("cannot start the supervisor");
	}
	if (run.supervisor == 0)
		be_supervisor(&run);

	if (output_start(&run) == -1)
		abandon(&run);
	if (!front_watch(&run, &verdict))
		verdict = take_over(&run);
	output_end(&run);
	settle_amend(&run);
	leave_terminal(&run);
	front_end(verdict);
}

/* What can be done without a COMMAND: with the runs on record. */
static int
serve(const struct options *options)
{
	switch (options->mode) {
	case MODE_LIST:
		return list_print(options->registry, options->as_json);
	case MODE_REAP:
		return reap_all(options->registry, options->quiet);
	case MODE_CANCEL:
		return cancel_run(options->registry, options->cancel,
		                  options->quiet);
	case MODE_RUN:
		break;
	}
	return STATUS_FAILED;
}

/* All that both watchers need, before they part. */
static void
prepare(struct run *run)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct sigaction sigchld;

	run->front = getpid();
	run->tree.root = run->front;
	run->null_fd = descriptors_open_null();
	if (run->null_fd == -1)
		die("/dev/null");
	/* What this opens may hang. So signals have to be able to end us. */
	if (settle_prepare(run) == -1 || enrol_prepare(run) == -1 ||
	    (plumbing_is_needed(run) && plumbing_lay(run) == -1))
		_exit(STATUS_FAILED);
	if (signals_block(&run->callers_mask) == -1)
		die("cannot block signals");

	/* Where it is ignored the kernel reaps children by itself, and their
	 * status is lost: wait(2). The target gets back what it was. */
	if (sigaction(SIGCHLD, &by_default, &sigchld) == -1)
		die("cannot reset SIGCHLD");
	run->ignores_sigchld = sigchld.sa_handler == SIG_IGN;

	if (pipe2(run->lifeline, O_CLOEXEC) == -1 || testament_open(run) == -1)
		die("cannot make a pipe");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == -1)
		die("cannot become a subreaper");

	run->shares_group =
	    !run->options.pty &&
	    (run->options.session == SESSION_CALLERS ||
	     (run->options.session == SESSION_AUTO && terminal_is_stdin()));
	if (run->shares_group)
		terminal_remember(&run->terminal);
	if (caller_watch(run) == -1 || caller_note_strangers(run) == -1)
		_exit(STATUS_FAILED);
	runid_make(run->id, run->front);
	run->tree.id = run->id;

	/* Last of all: from now on there is something to be undone. */
	const int status = settle_begin(run);

	if (run->cancel_signal != 0)
		signal_die_by(run->cancel_signal);
	if (status != LOCKS_ARE_TAKEN)
		_exit(status);
}

static _Noreturn void
be_supervisor(struct run *run)
{
	struct outcome verdict = failure;

	run->supervisor = getpid();
	if (getppid() == 0)
		run->front = 0; /* in another PID namespace */
	run->tree.root = run->supervisor;
	run->tree.stranger_count = 0; /* those are the front's children */
	run->tree.has_strangers = false;
	if (supervisor_begin(run) == -1 || target_start(run) == -1) {
		message("cannot start the command: %s", strerror(errno));
	} else {
		const int64_t now = duration_now();

		run->clocks.timeout = duration_add(now, run->options.timeout);
		supervisor_settle(run);
		report_note_start(run, now);
		listener_begin(run, now);
		heartbeat_begin(run, now);
		supervise(run);
		verdict = judge_verdict(run);
	}
	settle_note_end(run);
	/* Before the front can end by that verdict; and again, when all that
	 * were reaped can be counted. */
	report_note_end(run, verdict);
	testament_judge(run, verdict);
	finish(run);
	report_note_end(run, verdict);
	settle(run);
	wake_front(run);
	if (run->front_is_lost)
		leave_terminal(run);
	_exit(0);
}

/* The supervisor was killed: its orphans are the front's now. */
static struct outcome
take_over(struct run *run)
{
	enter(run, STATE_KILLING, REASON_SUPERVISOR_LOST);
	supervise(run);

	finish(run);
	report_note_end(run, judge_verdict(run));
	settle(run);
	return judge_verdict(run);
}

/* There is no process to be had for a relay. What was started ends. */
static _Noreturn void
abandon(struct run *run)
{
	struct outcome verdict;

	message("cannot start a relay: %s", strerror(errno));
	run->options.quiet = true; /* all is said */
	/* A child not yet reaped: the number is its own. */
	(void)kill(run->supervisor, SIGKILL);
	if (!front_watch(run, &verdict))
		(void)take_over(run);
	report_note_verdict(run, failure);
	output_end(run);
	settle_amend(run);
	leave_terminal(run);
	_exit(STATUS_FAILED);
}

/* Leaves the caller's terminal as it was, if the command could not. */
static void
leave_terminal(struct run *run)
{
	console_restore(run);
	if (!run->shares_group || run->stop == REASON_NONE || run->target_left)
		return;
	terminal_restore(&run->terminal);
	terminal_reclaim(&run->terminal);
}

/* The life of a run: sleep, look, decide, act, until it is done. */
static void
supervise(struct run *run)
{
	while (run->state != STATE_DONE) {
		struct news news;

		const bool had_front = !run->front_is_lost;

		supervisor_wait(run, judge_next_deadline(run), &news);
		/* Before it is killed, as that may take a while. */
		if (had_front && run->front_is_lost)
			settle_inherit(run);
		supervisor_attend(run, &news);

		/* One wake-up may bring more than one reason. */
		for (;;) {
			const enum reason why = judge(run, &news);
			const enum state next =
			    judge_next_state(run->state, why);

			if (next == run->state)
				break;
			enter(run, next, why);
		}
	}
}

/* Goes from one state to the next. */
static void
enter(struct run *run, enum state next, enum reason why)
{
	if (judge_is_stop(why))
		note_stop(run, why);
	if (judge_is_stop(why) || why == REASON_LAST_BOUND)
		proctree_read(&run->tree);
	if (judge_is_stop(why) && run->state < STATE_STOPPING) {
		report_note_stop(run, run->tree.list.count);
		heartbeat_end(run); /* or its word might come behind ours */
	}
	if (diagnosis_is_due(why) || run->options.verbose)
		narrator_start(run, next, why);
	run->state = next;
	begin(run, next, why);
}

/* Notes the first reason to end the tree, which the verdict depends on. */
static void
note_stop(struct run *run, enum reason why)
{
	if (run->stop != REASON_NONE)
		return;
	run->stop = why;
	if (!run->target_left && !run->is_front)
		testament_name_stop(run, why);
}

static void
begin(struct run *run, enum state next, enum reason why)
{
	const int64_t now = duration_now();

	switch (next) {
	case STATE_LINGERING:
		enter_lingering(run, now);
		break;
	case STATE_STOPPING:
		supervisor_show_stopping(run);
		jobcontrol_resume_clocks(run, now);
		enter_stopping(run, why, now);
		break;
	case STATE_KILLING:
		supervisor_show_stopping(run);
		jobcontrol_resume_clocks(run, now);
		supervisor_start_killing(run, now);
		break;
	case STATE_RUNNING:
	case STATE_DONE:
		break;
	}
}

static void
enter_lingering(struct run *run, int64_t now)
{
	struct clocks *const clocks = &run->clocks;

	/* Others end when they end, or at the timeout; or are let go. */
	if (run->options.survivors != SURVIVORS_KILL || run->tree_is_empty)
		return;
	clocks->idle_after_exit =
	    duration_add(now, run->options.idle_after_exit);
	clocks->max_after_exit = duration_add(now, run->options.max_after_exit);
	supervisor_sample(run, now);
}

/* SIGNAL, then SIGCONT, so that a stopped process gets it too. */
static void
enter_stopping(struct run *run, enum reason why, int64_t now)
{
	if (!timeout_personality_has_signalled(run, why))
		treekill_signal(&run->tree, why == REASON_CANCELLED
		                                ? run->cancel_signal
		                                : run->options.signal);
	treekill_signal(&run->tree, SIGCONT);
	supervisor_set_kill_clock(run, now);
}

/* Nothing is signalled any more: the last zombies go, and with them the
 * target's PID. */
static void
finish(struct run *run)
{
	narrator_finish(run);
	heartbeat_end(run);
	while (children_reap(ANY_CHILD) > 0)
		;
	timeout_personality_tell_core(run);
}

/* A front that has stopped with its job is to see that this is over. */
static void
wake_front(struct run *run)
{
	struct news news;

	jobcontrol_end(run, duration_now());
	while (run->clocks.wake != NEVER && !run->front_is_lost) {
		supervisor_wait(run, run->clocks.wake, &news);
		if (news.signal == SIGCONT)
			return;
		if (news.now >= run->clocks.wake)
			jobcontrol_wake(run, news.now);
	}
}

/* For the time when nothing is started yet. */
static _Noreturn void
die(const char *what)
{
	message("%s: %s", what, strerror(errno));
	_exit(STATUS_FAILED);
}
