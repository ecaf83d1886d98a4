/* One run with a fault in it, from the start until nothing of it is left. */
#include "scenario.h"

#include <ftw.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/processes.h"
#include "../programs/trial.h"
#include "leftovers.h"

/*
 * Each wait of wdrun's own ends after 5 s, two such waits can follow one
 * another, and this machine may be busy.
 */
#define BOUND            (30000 * MILLISECOND)
#define ARGUMENTS_MAX    32
#define STATUS_FAILED    125
#define STATUS_NOT_RUN   126
#define STATUS_SOME_LEFT 1 /* of --reap */
#define STATUS_NOTHING   1 /* of --cancel, for which there is nothing to do */

/* --- the status ---------------------------------------------------------- */

/* Whether wdrun was asked about other runs, and starts none. */
static bool
is_tool(const struct attempt *attempt)
{
	return attempt->scenario->subject == SUBJECT_CANCEL ||
	       attempt->scenario->subject == SUBJECT_REAP;
}

static bool
is_root(const struct attempt *attempt, const char *role)
{
	return strcmp(role, attempt->trace->root) == 0;
}

/*
 * Whether the process that was started can have died by SIGKILL: its own, or
 * since the target did.
 */
static bool
can_be_killed(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;

	switch (fault->kind) {
	case FAULT_NONE:
	case FAULT_ERROR:
		return false;
	case FAULT_KILL:
		return is_root(attempt, fault->role) ||
		       strcmp(fault->role, "supervisor") == 0 ||
		       strcmp(fault->role, "target") == 0;
	case FAULT_KILL_SOON:
	case FAULT_KILL_BOTH:
		return true;
	}
	return false;
}

static bool
is_of_relay(const struct attempt *attempt)
{
	return strncmp(attempt->fault->role, "front-helper", 12) == 0;
}

/*
 * A command gets SIGPIPE when it writes to a relay that has died or given up,
 * and SIGHUP when its terminal is gone, or the supervisor, which leads the
 * session of a pseudo-terminal; the front then ends as the command did.
 */
static bool
is_cut_off(const struct attempt *attempt)
{
	const int status = attempt->trace->status;
	const bool has_relay_died =
	    attempt->fault->kind == FAULT_KILL ||
	    contains("err", "cannot read the command's");

	if (!WIFSIGNALED(status))
		return false;
	if (attempt->fault->kind == FAULT_KILL &&
	    strcmp(attempt->fault->role, "supervisor") == 0 &&
	    strcmp(attempt->scenario->name, "pty") == 0)
		return WTERMSIG(status) == SIGHUP;
	return has_relay_died && is_of_relay(attempt) &&
	       (WTERMSIG(status) == SIGPIPE || WTERMSIG(status) == SIGHUP);
}

/*
 * Whether there may be a reason for 125. An interrupted call is no reason once
 * the command runs.
 */
static bool
can_fail(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const struct trace *trace = attempt->trace;
	const bool is_running =
	    strcmp(fault->role, "supervisor") == 0 ||
	    (strcmp(fault->role, ROLE_FRONT) == 0 && trace->is_waiting &&
	     fault->count > trace->early[fault->call]);

	return fault->kind != FAULT_NONE &&
	       !(fault->kind == FAULT_ERROR && fault->error == EINTR &&
	         is_running);
}

static void
check_status(struct attempt *attempt)
{
	const struct scenario *scenario = attempt->scenario;
	const struct fault *fault = attempt->fault;
	const int status = attempt->trace->status;
	const int code = exit_code(attempt);

	if (code == scenario->status ||
	    (code == scenario->other && code != 0 && is_of_relay(attempt)))
		conclude(attempt, VERDICT_TRUE);
	else if (code == STATUS_FAILED && can_fail(attempt))
		conclude(attempt, VERDICT_FAILED);
	else if (code == STATUS_SOME_LEFT && can_fail(attempt) &&
	         scenario->subject == SUBJECT_REAP)
		conclude(attempt, VERDICT_FAILED);
	else if ((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
	          can_be_killed(attempt)) ||
	         is_cut_off(attempt))
		conclude(attempt, VERDICT_KILLED);
	else if (code == STATUS_NOT_RUN && fault->kind == FAULT_ERROR &&
	         strcmp(call_of(fault->call)->name, "execve") == 0)
		conclude(attempt, VERDICT_FAILED);
	else if (WIFEXITED(status))
		find(attempt, VERDICT_STATUS, "the status is %d", code);
	else
		find(attempt, VERDICT_STATUS, "killed by SIG%s",
		     sigabbrev_np(WTERMSIG(status)));
}

/* --- who lives ----------------------------------------------------------- */

/*
 * A survivor that is let go may be dead where a watcher was killed, and must be
 * dead where wdrun failed.
 */
static void
check_survivor(struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const struct trace *trace = attempt->trace;
	const bool is_watcher = is_root(attempt, fault->role) ||
	                        strcmp(fault->role, "supervisor") == 0;
	const int code = exit_code(attempt);

	if (fault->kind >= FAULT_KILL && is_watcher && trace->outlived <= 1)
		return;
	if (code == attempt->scenario->status && trace->outlived != 1)
		find(attempt, VERDICT_LEAK, "%d were let go", trace->outlived);
	if (code == STATUS_FAILED && trace->outlived != 0)
		find(attempt, VERDICT_LEAK, "it failed, and %s lives",
		     trace->outliver);
}

static void
check_living(struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const struct trace *trace = attempt->trace;
	const bool is_killed =
	    trace->is_met &&
	    (fault->kind == FAULT_KILL_BOTH || fault->kind == FAULT_KILL_SOON ||
	     (fault->kind == FAULT_KILL && is_root(attempt, fault->role)));

	if (attempt->scenario->lets_go)
		check_survivor(attempt);
	else if (trace->outlived > 0 && !is_killed &&
	         (!is_tool(attempt) || exit_code(attempt) == 0))
		find(attempt, VERDICT_LEAK, "%d outlived it, one is %s",
		     trace->outlived, trace->outliver);
}

static void
end_survivors(void)
{
	pid_t pids[CHILDREN_MAX];
	const int count = children_of(getpid(), pids);

	for (int i = 0; i < count; i++)
		(void)kill(pids[i], SIGKILL);
}

/* --- a case -------------------------------------------------------------- */

static const char *
root_of(const struct scenario *scenario)
{
	switch (scenario->subject) {
	case SUBJECT_RUN:
	case SUBJECT_TIMEOUT:
		return ROLE_FRONT;
	case SUBJECT_REFUSED:
		return "refused";
	case SUBJECT_CANCEL:
		return "canceller";
	case SUBJECT_REAP:
		return "reaper";
	}
	return NULL;
}

static size_t
add_all(const char *words[], size_t count, const char *const *more)
{
	for (; *more != NULL; more++) {
		if (count == ARGUMENTS_MAX - 5)
			give_up("too many arguments");
		words[count++] = *more;
	}
	return count;
}

static void
start(struct attempt *attempt)
{
	const struct scenario *scenario = attempt->scenario;
	const bool is_timeout = scenario->subject == SUBJECT_TIMEOUT;
	char path[TEXT_MAX];
	const char *words[ARGUMENTS_MAX];
	char *argv[ARGUMENTS_MAX];
	size_t count = 0;

	words[count++] = is_timeout ? "timeout" : getenv("WDRUN");
	count = add_all(words, count, scenario->arguments);
	/*
	 * A watcher that does not notice the front's death waits for this time.
	 */
	if (attempt->fault->kind == FAULT_KILL_SOON) {
		words[count++] = "-k";
		words[count++] = "100";
	}
	if (scenario->operand != NULL)
		words[count++] = scenario->operand;
	if (scenario->command != NULL) {
		(void)snprintf(path, sizeof(path), "%s/%s", getenv("PROGRAMS"),
		               scenario->command[0]);
		words[count++] = path;
		count = add_all(words, count, &scenario->command[1]);
	}
	words[count++] = NULL;
	memcpy(argv, words, count * sizeof(words[0]));
	trace_start(
	    attempt->trace,
	    &(struct program){ .path = getenv("WDRUN"),
	                       .argv = argv,
	                       .terminal_fd = attempt->stage.terminal_fd,
	                       .output = "out",
	                       .errors = "err" });
}

/*
 * Has wdrun do WHAT without a fault. Returns whether its status is 0 or STATUS.
 */
static bool
ask(struct attempt *attempt, char *what, int status)
{
	struct trace *trace = attempt->trace;
	char *argv[] = { getenv("WDRUN"), what, (char[]){ "--registry=R" },
		         NULL };

	trace_start_other(trace, &(struct program){ .path = argv[0],
	                                            .argv = argv,
	                                            .terminal_fd = -1,
	                                            .output = "out",
	                                            .errors = "err" });
	if (!trace_await(trace, false, now() + BOUND)) {
		find(attempt, VERDICT_HANG, "%s does not end", what);
		return true;
	}
	return WIFEXITED(trace->other_status) &&
	       (WEXITSTATUS(trace->other_status) == 0 ||
	        WEXITSTATUS(trace->other_status) == status);
}

/*
 * Twice where needed: nothing can be proved of a process that is dying at this
 * moment, so it is kept on record and reported.
 */
static void
reap(struct attempt *attempt)
{
	char what[] = "--reap";

	if (!ask(attempt, what, 0) && !ask(attempt, what, 0))
		find(attempt, VERDICT_STATUS, "the wait status of %s is %#x",
		     what, attempt->trace->other_status);
}

static void
cancel(struct attempt *attempt)
{
	char what[] = "--cancel=r";

	if (!ask(attempt, what, STATUS_NOTHING))
		find(attempt, VERDICT_STATUS, "the wait status of %s is %#x",
		     what, attempt->trace->other_status);
}

/*
 * Where a --reap or --cancel did not do everything, or was killed, another one
 * does. A front that is killed while it waits for a lock has no supervisor that
 * would take it off the record.
 */
static void
do_again(struct attempt *attempt)
{
	const enum fault_kind kind = attempt->fault->kind;

	if (kind == FAULT_KILL_BOTH ||
	    (kind >= FAULT_KILL &&
	     attempt->scenario->subject == SUBJECT_REFUSED))
		reap(attempt);
	if (is_tool(attempt) &&
	    (exit_code(attempt) != 0 || attempt->trace->outlived > 0))
		(attempt->scenario->subject == SUBJECT_REAP ? reap
		                                            : cancel)(attempt);
}

/* Runs the scenario, until nothing of it is left. */
static void
run(struct attempt *attempt)
{
	struct trace *trace = attempt->trace;

	start(attempt);
	if (!trace_await(trace, false, now() + BOUND)) {
		find(attempt, VERDICT_HANG, "it does not end");
		stage_end(&attempt->stage);
		trace_end(trace);
		return;
	}
	check_status(attempt);
	check_living(attempt);
	if (attempt->scenario->subject == SUBJECT_REFUSED &&
	    !stage_is_held(&attempt->stage))
		find(attempt, VERDICT_LOCK, "its holder has lost the lock");
	if (attempt->scenario->lets_go) {
		check_lock(attempt);
		end_survivors();
	}
	do_again(attempt);
	stage_end(&attempt->stage);
	if (!trace_await(trace, true, now() + BOUND / 3)) {
		find(attempt, VERDICT_LEAK, "processes are left");
		trace_end(trace);
	}
}

/* The run that was cancelled has to end as it should, too. */
static void
check_staged(struct attempt *attempt)
{
	const int status = attempt->trace->staged_status;

	if (attempt->stage.kind == STAGE_RUN &&
	    !(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
		find(attempt, VERDICT_STATUS, "the wait status of it is %#x",
		     status);
}

static int
remove_one(const char *path, const struct stat *file, int type,
           struct FTW *where)
{
	(void)file;
	(void)type;
	if (where->level > 0)
		(void)remove(path);
	return 0;
}

enum verdict
scenario_try(const struct scenario *scenario, const struct fault *fault,
             struct trace *trace)
{
	struct attempt attempt = { .scenario = scenario,
		                   .fault = fault,
		                   .trace = trace,
		                   .stage = stage_set(scenario->stage) };

	trace->fault = *fault;
	trace->root = root_of(scenario);
	trace->stage = &attempt.stage;
	run(&attempt);
	check_lock(&attempt);
	check_files(&attempt);
	check_staged(&attempt);
	if (!stage_terminal_is_restored())
		find(&attempt, VERDICT_LOST, "the terminal is not as it was");
	if (nftw(".", remove_one, 8, FTW_DEPTH | FTW_PHYS) == -1)
		give_up("nftw");
	if (attempt.verdict < VERDICT_KNOWN && fault->kind != FAULT_NONE &&
	    !trace->is_met)
		return VERDICT_NOT_MET;
	return attempt.verdict;
}
