/* One run with a fault in it, from the start until nothing of it is left. */
#include "scenario.h"

#include <dirent.h>
#include <ftw.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>

#include "trial.h"

#define RECORDINGS   2 /* some runs make more calls than others */
#define NOT_EXECUTED W_EXITCODE(126, 0)

/*
 * The six runs have between them what wdrun can do. LITTER is a file, a
 * directory, a daemon and a process with a session of its own that ignores
 * SIGTERM. All files have names that can be
 * found in a message.
 */
#define RECORDED "--name=r --registry=R.dir "
#define OWNED    "--lock=L.lock --cleanup=C.file --cleanup=D.dir "
#define PATIENCE "--kill-after=20ms --idle-after-exit=10ms "
#define LITTER   "@act lock=C.file dir=D.dir session daemon ready "

const struct scenario scenarios[SCENARIOS] = {
	{ .name = "timeout",
	  .words = PATIENCE "--timeout=100ms " LITTER "live",
	  .status = W_EXITCODE(124, 0),
	  .has_terminal = true },
	{ .name = "output",
	  .words = PATIENCE "--until=dy --until-grace=20ms --idle-timeout=4 "
	                    "--heartbeat=5 --tee=T.file @act say=ready "
	                    "session live",
	  .status = W_EXITCODE(0, 0),
	  .other = W_EXITCODE(124, 0),
	  .output = "ready\n" },
	{ .name = "pty",
	  .words = PATIENCE "--pty @act say=shown session sleep=20 exit=7",
	  .status = W_EXITCODE(7, 0),
	  .output = "shown",
	  .has_terminal = true,
	  .has_pty = true },
	{ .name = "lock",
	  .words = PATIENCE OWNED "--lock-wait=60 " LITTER "sleep=20 exit=7",
	  .status = W_EXITCODE(7, 0),
	  .output = "ready ",
	  .is_held = true },
	{ .name = "record",
	  .words = RECORDED OWNED "--report=J.file @act lock=C.file dir=D.dir "
	                          "say=done exit=3",
	  .status = W_EXITCODE(3, 0),
	  .output = "done\n" },
	{ .name = "cancel",
	  .words = RECORDED OWNED PATIENCE LITTER "live",
	  .status = W_EXITCODE(0, SIGTERM),
	  .other = W_EXITCODE(128 + SIGTERM, 0), /* kill(2) has failed */
	  .is_signalled = true },
};

/* A case during its checks. */
struct attempt {
	const struct scenario *scenario;
	const struct fault *fault;
	struct record *record;
	struct trace trace;
	int lock_fd;     /* of the lock that is held before the run, or -1 */
	bool has_rested; /* since its command runs */
	bool was_signalled;
	enum verdict verdict;
};

/* The terminal of this process. */
static int master_fd;
static int slave_fd;
static struct termios modes;

/* --- findings ------------------------------------------------------------ */

static void
conclude(struct attempt *attempt, enum verdict verdict)
{
	if (verdict > attempt->verdict)
		attempt->verdict = verdict;
}

__attribute__((format(printf, 2, 3))) static void
find(struct attempt *attempt, const char *format, ...)
{
	char name[CASE_NAME_MAX];
	char what[256];
	char said[TEXT_MAX];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	conclude(attempt, VERDICT_FOUND);
	(void)read_start("err", said);
	fault_write(attempt->scenario, attempt->fault, name);
	printf("found: '%s': %s; said:\n%s", name, what, said);
}

static bool
has_word(const struct attempt *attempt, const char *word)
{
	return strstr(attempt->scenario->words, word) != NULL;
}

/* Without the rows of processes, "wdrun:   4711 sleep 1000 ...", of which there
 * may be one more or less. */
static int
lines_said(void)
{
	char text[TEXT_MAX];
	int count = 0;

	(void)read_start("err", text);
	for (const char *at = text; *at != '\0'; at += strcspn(at, "\n")) {
		at += *at == '\n';
		count += *at != '\0' && strncmp(at, "wdrun:  ", 8) != 0;
	}
	return count;
}

/* Something is not as it should be. That is a finding, unless an error did the
 * harm and is told: there is a message more than without it. */
static void
miss(struct attempt *attempt, const char *what, const char *file)
{
	if (attempt->fault->kind == FAULT_ERROR &&
	    lines_said() > attempt->record->said)
		conclude(attempt, VERDICT_TOLD);
	else
		find(attempt, "%s '%s'", what, file);
}

/* --- the status ---------------------------------------------------------- */

/*
 * Once its command runs, the supervisor, which blocks all signals, is to go on
 * after an interrupted call.
 */
static bool
can_fail(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;

	return fault->kind != FAULT_NONE &&
	       !(fault->kind == FAULT_ERROR && fault->error == EINTR &&
	         fault->who == SUPERVISOR);
}

/* A terminal is hung up: by the death of the leader of its session; or because
 * the front, which reads it, was told that it is gone. */
static bool
is_hung_up(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;

	if (!attempt->scenario->has_pty || !attempt->trace.is_met)
		return false;
	return fault->kind == FAULT_ERROR
	           ? fault->who == FRONT &&
	                 strcmp(call_of(fault->call).name, "read") == 0
	           : fault->who == SUPERVISOR;
}

static void
check_status(struct attempt *attempt)
{
	const struct scenario *scenario = attempt->scenario;
	const struct fault *fault = attempt->fault;
	const int status = attempt->trace.status;
	const bool is_killed =
	    attempt->trace.is_met &&
	    (fault->kind == FAULT_KILL || fault->kind == FAULT_BOTH);

	if (status == scenario->status ||
	    (fault->kind == FAULT_ERROR && status == scenario->other))
		conclude(attempt, VERDICT_TRUE);
	else if (status == STATUS_FAILED && can_fail(attempt))
		conclude(attempt, VERDICT_FAILED);
	else if ((is_killed && status == W_EXITCODE(0, SIGKILL)) ||
	         (status == W_EXITCODE(0, SIGHUP) && is_hung_up(attempt)))
		conclude(attempt, VERDICT_KILLED);
	else if (status == NOT_EXECUTED && fault->kind == FAULT_ERROR &&
	         strcmp(call_of(fault->call).name, "execve") == 0)
		conclude(attempt, VERDICT_FAILED);
	else
		find(attempt, "the wait status is %#x", status);
}

/* --- what is left -------------------------------------------------------- */

/* Whether every watcher that there was got SIGKILL. */
static bool
no_watcher_was_left(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;

	return attempt->trace.is_met &&
	       (fault->kind == FAULT_BOTH ||
	        (fault->kind == FAULT_KILL && fault->who == FRONT &&
	         !attempt->trace.had_supervisor));
}

static bool
has_failed(const struct attempt *attempt)
{
	return attempt->trace.is_met && attempt->fault->kind == FAULT_ERROR;
}

/*
 * The command's files are cleaned up where that was asked for, unless a call
 * failed: then a file that could not be judged stays (LIMITS), and nobody holds
 * it. A lock may be left where nobody was left to remove it, and so may the
 * file in which the report was written: a later run takes the one. The holder
 * before the run leaves its lock, too.
 */
static bool
may_be_left(const struct attempt *attempt, const char *name)
{
	static const char *const ours[] = { ".",      "..",     "out",  "err",
		                            "T.file", "J.file", "R.dir" };
	const size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(name, ours[i]) == 0)
			return true;
	}
	if (strcmp(name, "C.file") == 0 || strcmp(name, "D.dir") == 0)
		return has_failed(attempt) || !has_word(attempt, "--cleanup");
	if (strcmp(name, "L.lock") == 0)
		return has_failed(attempt) || no_watcher_was_left(attempt) ||
		       (attempt->scenario->is_held &&
		        attempt->trace.status != attempt->scenario->status &&
		        !attempt->trace.has_executed);
	return no_watcher_was_left(attempt) && name[0] == '.' && length > 4 &&
	       strcmp(name + length - 4, ".new") == 0;
}

static void
check_directory(struct attempt *attempt, const char *path)
{
	DIR *directory = opendir(path);
	const struct dirent *file;

	while (directory != NULL && (file = readdir(directory)) != NULL) {
		if (!may_be_left(attempt, file->d_name))
			miss(attempt, "left:", file->d_name);
	}
	if (directory != NULL)
		(void)closedir(directory);
}

/* A process that got SIGKILL lives, and holds its locks, for another moment. */
static void
check_lock(struct attempt *attempt)
{
	const int64_t deadline = now() + BOUND;

	while (!lock_is_free("L.lock")) {
		if (now() > deadline) {
			find(attempt, "the lock is still held");
			return;
		}
		(void)usleep(1000);
	}
}

/* The report's first status is the status that was returned. */
static void
check_report(struct attempt *attempt)
{
	char text[TEXT_MAX];
	const int status = attempt->trace.status;
	const bool is_there = read_start("J.file", text);
	const char *key = strstr(text, "\"status\":");

	if (!has_word(attempt, "--report") || !WIFEXITED(status))
		return;
	if (key != NULL && atoi(strchr(key, ':') + 1) != WEXITSTATUS(status))
		find(attempt, "the status is %d, reported %s",
		     WEXITSTATUS(status), key);
	else if (key == NULL && is_there)
		find(attempt, "the report is not whole");
	else if (key == NULL && status == attempt->scenario->status)
		miss(attempt, "no report:", "J.file");
}

static void
check_output(struct attempt *attempt, const char *file)
{
	const struct scenario *scenario = attempt->scenario;
	const struct fault *fault = attempt->fault;
	/* The error may say that no process has the pseudo-terminal open. */
	const bool is_end = scenario->has_pty && fault->kind == FAULT_ERROR &&
	                    fault->who == FRONT && fault->call == SYS_read &&
	                    fault->error != EINTR;
	char text[TEXT_MAX];

	(void)read_start(file, text);
	/* A target that was killed may not have printed anything yet. */
	if (scenario->output != NULL && !is_end &&
	    strstr(text, scenario->output) == NULL &&
	    attempt->trace.status == scenario->status &&
	    fault->kind != FAULT_KILL)
		miss(attempt, "output is missing in", file);
}

static void
check_terminal(struct attempt *attempt)
{
	struct termios found;

	if (tcgetattr(slave_fd, &found) == -1)
		give_up("tcgetattr");
	if (found.c_iflag != modes.c_iflag || found.c_oflag != modes.c_oflag ||
	    found.c_lflag != modes.c_lflag)
		miss(attempt, "modes of the", "terminal");
	if (tcsetattr(slave_fd, TCSANOW, &modes) == -1)
		give_up("tcsetattr");
}

/* Writes what was printed on the terminal into the file "out". */
static void
drain_terminal(void)
{
	const int fd =
	    open("out", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	char text[TEXT_MAX];
	ssize_t length;

	while ((length = read(master_fd, text, sizeof(text))) > 0)
		(void)!write(fd, text, (size_t)length);
	(void)close(fd);
}

/* --- what happens beside the run ----------------------------------------- */

static void
hold_lock(struct attempt *attempt)
{
	attempt->lock_fd = open("L.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (attempt->lock_fd == -1 || flock(attempt->lock_fd, LOCK_EX) == -1)
		give_up("L.lock");
}

static void
release_lock(struct attempt *attempt)
{
	if (attempt->lock_fd != -1)
		(void)close(attempt->lock_fd);
	attempt->lock_fd = -1;
}

static const uint16_t *
counts_of(const struct trace *trace)
{
	static const uint16_t none[CALLS_MAX];
	const struct process *const one = trace->who[trace->fault.who];

	return one == NULL ? none : one->counts;
}

/* All of wdrun has waited for a moment. */
static void
attend_rest(struct attempt *attempt)
{
	const struct trace *const trace = &attempt->trace;
	char text[TEXT_MAX];

	release_lock(attempt);
	if (!trace->has_executed || trace->has_ended)
		return;
	(void)read_start("out", text);
	if (attempt->scenario->is_signalled && !attempt->was_signalled &&
	    strstr(text, "ready ") != NULL) {
		attempt->was_signalled = true;
		(void)kill(trace->who[FRONT]->pid, SIGTERM);
	}
	if (attempt->fault->kind == FAULT_NONE && !attempt->has_rested)
		memcpy(attempt->record->early[attempt->fault->who],
		       counts_of(trace), sizeof(attempt->record->early[0]));
	attempt->has_rested = true;
}

/* --- a case -------------------------------------------------------------- */

static void
start(struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;
	const uint16_t *early = attempt->record->early[fault->who];
	const bool is_early = fault->kind != FAULT_NONE &&
	                      fault->kind != FAULT_ERROR &&
	                      fault->count <= early[fault->call];
	char words[TEXT_MAX];

	strcpy(words, attempt->scenario->words);
	/*
	 * Before the stop, a watcher that does not notice the other's death
	 * would end the run all the same, a moment later: not with 1000 s.
	 */
	char *const bound = is_early ? strstr(words, "20ms") : NULL;

	if (bound != NULL)
		memcpy(bound, "1000", strlen("1000"));
	trace_start(&attempt->trace, words,
	            attempt->scenario->has_terminal ? slave_fd : -1);
}

/* The target is killed by the kernel, its processes by --reap. */
static void
check_without_watchers(struct attempt *attempt)
{
	const struct process *const target = attempt->trace.who[TARGET];
	const int64_t deadline = now() + BOUND;
	int status;

	while (target != NULL && !is_ending(target->pid)) {
		if (now() > deadline) {
			find(attempt, "the target lives");
			break;
		}
		(void)usleep(1000);
	}
	if (!has_word(attempt, "--registry"))
		return;
	status = have_reaped("--reap --registry=R.dir");
	if (status != 0)
		find(attempt, "the wait status of --reap is %#x", status);
}

/* Runs the scenario, until nothing of it is left. */
static void
run(struct attempt *attempt)
{
	struct trace *const trace = &attempt->trace;
	const struct fault *const fault = attempt->fault;
	const int64_t deadline = now() + BOUND;
	enum progress progress;

	start(attempt);
	while ((progress = trace_await(trace, false, deadline)) == AT_REST)
		attend_rest(attempt);
	release_lock(attempt);
	if (progress == TOO_LATE) {
		find(attempt, "it does not end");
		trace_end(trace);
		return;
	}
	check_status(attempt);
	if (trace->outliver != 0 &&
	    !(trace->is_met &&
	      (fault->kind == FAULT_BOTH ||
	       (fault->kind == FAULT_KILL && fault->who == FRONT))))
		find(attempt, "%s outlived it", stat_of(trace->outliver).name);
	if (no_watcher_was_left(attempt))
		check_without_watchers(attempt);
	if (trace_await(trace, true, now() + BOUND) == TOO_LATE) {
		find(attempt, "processes are left");
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

static void
keep_record(struct attempt *attempt)
{
	const struct trace *const trace = &attempt->trace;
	struct record *const record = attempt->record;
	const uint16_t *const counts = counts_of(trace);
	uint16_t *const few = record->few[trace->fault.who];
	uint16_t *const many = record->many[trace->fault.who];

	if (trace->is_strange)
		find(attempt, "who is the target?");
	if (lines_said() > record->said)
		record->said = lines_said();
	for (int i = 0; i < CALLS_MAX; i++) {
		few[i] = counts[i] < few[i] ? counts[i] : few[i];
		many[i] = counts[i] > many[i] ? counts[i] : many[i];
	}
}

enum verdict
scenario_try(const struct scenario *scenario, const struct fault *fault,
             struct record *record, bool is_verbose)
{
	static struct attempt attempt;

	attempt = (struct attempt){ .scenario = scenario,
		                    .fault = fault,
		                    .record = record,
		                    .lock_fd = -1 };
	attempt.trace.fault = *fault;
	attempt.trace.is_verbose = is_verbose;
	if (scenario->is_held)
		hold_lock(&attempt);
	run(&attempt);
	drain_terminal();
	if (fault->kind == FAULT_NONE)
		keep_record(&attempt);
	check_lock(&attempt);
	check_directory(&attempt, ".");
	check_directory(&attempt, "R.dir");
	check_report(&attempt);
	check_output(&attempt, "out");
	if (has_word(&attempt, "--tee"))
		check_output(&attempt, "T.file");
	check_terminal(&attempt);
	if (nftw(".", remove_one, 8, FTW_DEPTH | FTW_PHYS) == -1)
		give_up("nftw");
	if (attempt.verdict < VERDICT_TOLD && fault->kind != FAULT_NONE &&
	    !attempt.trace.is_met)
		return VERDICT_UNMET;
	return attempt.verdict;
}

/* Who stops at each call is slower, so each process is recorded by itself. */
bool
scenario_record(const struct scenario *scenario, struct record *record)
{
	struct fault none = { .kind = FAULT_NONE };
	bool is_fine;

	is_fine = scenario_try(scenario, &none, record, false) == VERDICT_TRUE;
	memset(record->few, 0xff, sizeof(record->few));
	memset(record->many, 0, sizeof(record->many));
	for (none.who = FRONT; none.who < WHO_COUNT; none.who++) {
		for (int i = 0; i < RECORDINGS && is_fine; i++)
			is_fine = scenario_try(scenario, &none, record,
			                       false) == VERDICT_TRUE;
	}
	return is_fine;
}

void
scenario_prepare(void)
{
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    sigprocmask(SIG_BLOCK, &sigchld, NULL) == -1 || setsid() == -1)
		give_up("prepare");
	master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master_fd == -1 || grantpt(master_fd) == -1 ||
	    unlockpt(master_fd) == -1)
		give_up("pty");
	slave_fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave_fd == -1 || ioctl(slave_fd, TIOCSCTTY, 0) == -1 ||
	    tcgetattr(slave_fd, &modes) == -1)
		give_up("pty");
}
