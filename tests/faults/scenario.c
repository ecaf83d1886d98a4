/* The runs that faults come to, and what may be left of them. */
#include "scenario.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/processes.h"
#include "../programs/trial.h"
#include "known.h"

/* All that wdrun waits for by itself ends after 5 s, two such waits can follow
 * one another, and this machine may be busy. */
#define BOUND          (30000 * MILLISECOND)
#define ARGUMENTS_MAX  32
#define SAYS_MAX       4096
#define STATUS_LOCKED  75
#define STATUS_FAILED  125
#define STATUS_NOT_RUN 126

#define ESTATE                                                                 \
	"--lock=L", "--cleanup=C", "--cleanup=D", "--name=r", "--registry=R"
#define OUTPUT   "--idle-timeout=60", "--tee=T", "--report=J"
#define PATIENCE "--kill-after=20ms", "--idle-after-exit=10ms"

static const char *const all_options[] = { ESTATE, OUTPUT, PATIENCE,
	                                   "--timeout=100ms", NULL };
static const char *const exit_options[] = { ESTATE, OUTPUT, PATIENCE, NULL };
static const char *const few_options[] = { PATIENCE, NULL };
static const char *const for_ever[] = { NULL };
static const char *const soon[] = { "20", "7", NULL };

const struct scenario scenarios[] = {
	{ "timeout", 124, all_options, for_ever, true },
	{ "exit", 7, exit_options, soon, true },
	{ "plain", 7, few_options, soon, false },
};
const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

/* --- findings ------------------------------------------------------------ */

/* A case while it is looked at. */
struct attempt {
	const struct scenario *scenario;
	const struct fault *fault;
	struct trace *trace;
	enum verdict verdict;
};

static void
conclude(struct attempt *attempt, enum verdict verdict)
{
	if (verdict > attempt->verdict)
		attempt->verdict = verdict;
}

__attribute__((format(printf, 3, 4))) static void
find(struct attempt *attempt, enum verdict verdict, const char *format, ...)
{
	char case_name[CASE_NAME_MAX];
	char what[TEXT_MAX];
	char said[TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (known_is(attempt->fault, verdict, what)) {
		conclude(attempt, VERDICT_KNOWN);
		return;
	}
	conclude(attempt, verdict);
	last_line("err", said);
	fault_write(attempt->scenario, attempt->fault, case_name,
	            sizeof(case_name));
	dprintf(STDOUT_FILENO, "found: '%s': %s; said last: %s\n", case_name,
	        what, said);
}

/* --- what is left -------------------------------------------------------- */

/* Whether a message names the file NAME. */
static bool
is_told(const char *name)
{
	char says[SAYS_MAX] = "";
	char file[TEXT_MAX];
	const int fd = open("err", O_RDONLY | O_CLOEXEC);

	if (fd != -1) {
		(void)!read(fd, says, sizeof(says) - 1);
		(void)close(fd);
	}
	(void)snprintf(file, sizeof(file), "/%s'", name);
	return strstr(says, file) != NULL || strstr(says, "registry") != NULL;
}

static bool
may_be_left(const struct attempt *attempt, const char *name)
{
	const struct fault *fault = attempt->fault;
	const bool is_command =
	    strcmp(name, "C") == 0 || strcmp(name, "D") == 0;

	if (strcmp(name, "out") == 0 || strcmp(name, "err") == 0 ||
	    strcmp(name, "T") == 0 || strcmp(name, "R") == 0 ||
	    strcmp(name, "J") == 0)
		return true;
	if (is_command)
		return !attempt->scenario->is_registered;
	/* Nobody was there to remove it; it is not held, and will be taken
	 * over. */
	return strcmp(name, "L") == 0 &&
	       (fault->kind == FAULT_KILL_BOTH ||
	        (fault->kind >= FAULT_KILL && !attempt->trace->had_supervisor));
}

static void
check_directory(struct attempt *attempt, const char *path)
{
	const bool is_registry = strcmp(path, "R") == 0;
	DIR *directory = opendir(path);
	const struct dirent *file;

	if (directory == NULL)
		return;
	while ((file = readdir(directory)) != NULL) {
		const char *name = file->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    (!is_registry && may_be_left(attempt, name)))
			continue;
		if (attempt->fault->kind == FAULT_ERROR && is_told(name))
			conclude(attempt, VERDICT_TOLD);
		else
			find(attempt, VERDICT_FILE, "'%s/%s' is left", path,
			     name);
	}
	(void)closedir(directory);
}

/* A process that got SIGKILL lives on for a moment. */
static void
check_lock(struct attempt *attempt)
{
	const int64_t deadline = now() + BOUND;

	while (!lock_is_free("L")) {
		if (now() > deadline) {
			find(attempt, VERDICT_LOCK, "the lock is still held");
			return;
		}
		(void)usleep(1000);
	}
}

static bool
is_watcher(const char *role)
{
	return strcmp(role, "front") == 0 || strcmp(role, "supervisor") == 0;
}

/* Whether the front can have been killed: it itself, or it does as the target
 * did. */
static bool
can_be_killed(const struct fault *fault)
{
	switch (fault->kind) {
	case FAULT_NONE:
	case FAULT_ERROR:
		return false;
	case FAULT_KILL:
		return is_watcher(fault->role) ||
		       strcmp(fault->role, "target") == 0;
	case FAULT_KILL_SOON:
	case FAULT_KILL_BOTH:
		return true;
	}
	return false;
}

/* A command that writes where its relay has died gets SIGPIPE, and the front
 * ends as it did. */
static bool
is_cut_off(const struct fault *fault)
{
	return fault->kind == FAULT_KILL &&
	       strncmp(fault->role, "front-helper", 12) == 0;
}

/* Whether there may be a reason for 125. A call that was interrupted is none,
 * when the command runs. */
static bool
can_fail(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const struct trace *trace = attempt->trace;
	const bool is_running =
	    strcmp(fault->role, "supervisor") == 0 ||
	    (strcmp(fault->role, "front") == 0 && trace->is_waiting &&
	     fault->count > trace->early[fault->call]);

	return fault->kind != FAULT_NONE &&
	       !(fault->kind == FAULT_ERROR && fault->error == EINTR &&
	         is_running);
}

static void
check_status(struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const int status = attempt->trace->status;
	const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const bool is_killed =
	    WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

	if (code == attempt->scenario->status)
		conclude(attempt, VERDICT_TRUE);
	else if (code == STATUS_FAILED && can_fail(attempt))
		conclude(attempt, VERDICT_FAILED);
	else if (is_killed && can_be_killed(fault))
		conclude(attempt, VERDICT_KILLED);
	else if (is_cut_off(fault) && WIFSIGNALED(status) &&
	         WTERMSIG(status) == SIGPIPE)
		conclude(attempt, VERDICT_KILLED);
	else if (code == STATUS_NOT_RUN && fault->kind == FAULT_ERROR &&
	         strcmp(call_of(fault->call)->name, "execve") == 0)
		conclude(attempt, VERDICT_FAILED);
	else
		find(attempt, VERDICT_STATUS, "%s %d",
		     WIFEXITED(status) ? "the status is" : "killed by signal",
		     WIFEXITED(status) ? code : WTERMSIG(status));
}

/* --- a case -------------------------------------------------------------- */

static void
start(struct attempt *attempt)
{
	const struct scenario *scenario = attempt->scenario;
	char program[TEXT_MAX];
	const char *arguments[ARGUMENTS_MAX];
	char *argv[ARGUMENTS_MAX];
	size_t count = 0;

	(void)snprintf(program, sizeof(program), "%s/litter",
	               getenv("PROGRAMS"));
	arguments[count++] = getenv("WDRUN");
	for (const char *const *one = scenario->options; *one != NULL; one++)
		arguments[count++] = *one;
	/* Who does not see that the front is gone waits for that. */
	if (attempt->fault->kind == FAULT_KILL_SOON)
		arguments[count++] = "--kill-after=100";
	arguments[count++] = program;
	arguments[count++] = "C";
	arguments[count++] = "D";
	for (const char *const *one = scenario->arguments; *one != NULL; one++)
		arguments[count++] = *one;
	arguments[count++] = NULL;
	memcpy(argv, arguments, count * sizeof(arguments[0]));
	trace_start(attempt->trace, argv);
}

/* Twice, if need be: for a process that is dying at this moment, nothing can be
 * proved; it is kept on record, and told. */
static void
reap(struct attempt *attempt)
{
	char *argv[] = { getenv("WDRUN"), (char[]){ "--reap" },
		         (char[]){ "--registry=R" }, NULL };
	struct trace *trace = attempt->trace;

	for (int i = 0; i < 2; i++) {
		trace_start_other(trace, argv);
		if (!trace_await(trace, false, now() + BOUND)) {
			find(attempt, VERDICT_HANG, "--reap does not end");
			return;
		}
		if (trace->other_status == 0)
			return;
	}
	find(attempt, VERDICT_STATUS, "the wait status of --reap is %#x",
	     trace->other_status);
}

/* Runs it, until nothing of it is left. */
static void
run(struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	struct trace *trace = attempt->trace;
	const bool is_front =
	    fault->kind == FAULT_KILL_BOTH || fault->kind == FAULT_KILL_SOON ||
	    (fault->kind == FAULT_KILL && strcmp(fault->role, "front") == 0);

	start(attempt);
	if (!trace_await(trace, false, now() + BOUND)) {
		find(attempt, VERDICT_HANG, "it does not end");
		trace_end(trace);
		return;
	}
	if (trace->outlived > 0 && !(is_front && trace->is_met))
		find(attempt, VERDICT_LEAK, "%d outlived it, one is %s",
		     trace->outlived, trace->outliver);
	if (fault->kind == FAULT_KILL_BOTH)
		reap(attempt);
	if (!trace_await(trace, true, now() + BOUND / 3)) {
		find(attempt, VERDICT_LEAK, "processes are left");
		trace_end(trace);
	}
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
	struct attempt attempt = { scenario, fault, trace, VERDICT_NOT_MET };

	trace->fault = *fault;
	run(&attempt);
	if (attempt.verdict != VERDICT_HANG)
		check_status(&attempt);
	check_lock(&attempt);
	check_directory(&attempt, ".");
	check_directory(&attempt, "R");
	if (nftw(".", remove_one, 8, FTW_DEPTH | FTW_PHYS) == -1)
		give_up("nftw");
	if (attempt.verdict < VERDICT_KNOWN && fault->kind != FAULT_NONE &&
	    !trace->is_met)
		return VERDICT_NOT_MET;
	return attempt.verdict;
}
