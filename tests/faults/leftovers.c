/* Checks what a run with a fault leaves behind, and what it has to leave. */
#include "leftovers.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../programs/bounded.h"
#include "../programs/trial.h"
#include "known.h"

#define LOCK_BOUND (30000 * MILLISECOND)
#define FILE_MAX   4096

/* --- findings ------------------------------------------------------------ */

void
conclude(struct attempt *attempt, enum verdict verdict)
{
	if (verdict > attempt->verdict)
		attempt->verdict = verdict;
}

void
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

int
exit_code(const struct attempt *attempt)
{
	const int status = attempt->trace->status;

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- text ---------------------------------------------------------------- */

/*
 * Reads the start of FILE, "" where it does not exist. Returns whether it
 * exists.
 */
static bool
read_start(const char *file, char text[FILE_MAX])
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? 0 : read(fd, text, FILE_MAX - 1);

	text[length < 0 ? 0 : length] = '\0';
	if (fd != -1)
		(void)close(fd);
	return fd != -1;
}

bool
contains(const char *file, const char *text)
{
	char start[FILE_MAX];

	(void)read_start(file, start);
	return strstr(start, text) != NULL;
}

/* Whether a message names the file NAME. */
static bool
is_reported(const char *name)
{
	char file[TEXT_MAX];

	(void)snprintf(file, sizeof(file), "/%s'", name);
	return contains("err", file) || contains("err", "registry");
}

static bool
has_argument(const struct scenario *scenario, const char *argument)
{
	for (const char *const *one = scenario->arguments; *one != NULL;
	     one++) {
		if (strcmp(*one, argument) == 0)
			return true;
	}
	return false;
}

/* --- what may be left ---------------------------------------------------- */

/* Whether every watcher that existed got SIGKILL. */
static bool
no_watcher_was_left(const struct attempt *attempt)
{
	const struct fault *fault = attempt->fault;

	return strcmp(attempt->trace->root, ROLE_FRONT) == 0 &&
	       (fault->kind == FAULT_KILL_BOTH ||
	        (fault->kind >= FAULT_KILL && !attempt->trace->had_supervisor));
}

/*
 * No process was left to remove the lock; it is not held, and will be taken
 * over.
 */
static bool
may_lock_be_left(const struct attempt *attempt)
{
	char text[FILE_MAX];

	if (attempt->scenario->subject == SUBJECT_REFUSED)
		return true;
	/* The holder before the run leaves it so. */
	if (attempt->stage.kind == STAGE_FREED &&
	    exit_code(attempt) != attempt->scenario->status &&
	    read_start("L", text) && *text == '\0')
		return true;
	return no_watcher_was_left(attempt);
}

/*
 * A report or an entry whose writer died while it wrote: the next writer that
 * the watchers start removes it, or a later --reap.
 */
static bool
is_unfinished(const char *name)
{
	const size_t length = strlen(name);

	return name[0] == '.' && length > 4 &&
	       strcmp(name + length - 4, ".new") == 0;
}

static bool
may_be_left(const struct attempt *attempt, const char *name)
{
	static const char *const ours[] = { "out",        "err", "staged-out",
		                            "staged-err", "T",   "R",
		                            "J" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		if (strcmp(name, ours[i]) == 0)
			return true;
	}
	if (strcmp(name, "C") == 0 || strcmp(name, "D") == 0)
		return !attempt->scenario->cleans_up;
	return strcmp(name, "L") == 0 && may_lock_be_left(attempt);
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
		    (!is_registry && may_be_left(attempt, name)) ||
		    (is_unfinished(name) && no_watcher_was_left(attempt)))
			continue;
		if (attempt->fault->kind == FAULT_ERROR && is_reported(name))
			conclude(attempt, VERDICT_TOLD);
		else
			find(attempt, VERDICT_FILE, "'%s/%s' is left", path,
			     name);
	}
	(void)closedir(directory);
}

/* A process that got SIGKILL lives for another moment. */
void
check_lock(struct attempt *attempt)
{
	const int64_t deadline = now() + LOCK_BOUND;

	while (!lock_is_free("L")) {
		if (now() > deadline) {
			find(attempt, VERDICT_LOCK, "the lock is still held");
			return;
		}
		(void)usleep(1000);
	}
}

/* --- what has to be there ------------------------------------------------ */

/* The report's first status is the status that was returned. */
static void
check_report(struct attempt *attempt)
{
	char text[FILE_MAX];
	const int code = exit_code(attempt);
	const bool is_there = read_start("J", text);
	const char *status = strstr(text, "\"status\":");

	if (!has_argument(attempt->scenario, "--report=J") || code == -1)
		return;
	if (status != NULL) {
		const int told = atoi(status + strlen("\"status\":"));

		if (told != code)
			find(attempt, VERDICT_STATUS,
			     "the status is %d, that of the report %d", code,
			     told);
	} else if (is_there) {
		find(attempt, VERDICT_FILE, "the report is not whole");
	} else if (code == attempt->scenario->status) {
		if (contains("err", "--report"))
			conclude(attempt, VERDICT_TOLD);
		else
			find(attempt, VERDICT_FILE, "there is no report");
	}
}

static void
check_output_in(struct attempt *attempt, const char *file)
{
	if (contains(file, attempt->scenario->output))
		return;
	if (contains("err", "output") || contains("err", "relay") ||
	    contains("err", "--tee") || contains("err", "cannot read") ||
	    contains("err", "cannot write"))
		conclude(attempt, VERDICT_TOLD);
	else
		find(attempt, VERDICT_LOST, "output is missing in '%s'", file);
}

static void
check_output(struct attempt *attempt)
{
	const struct scenario *scenario = attempt->scenario;
	/*
	 * The size of the terminal cannot always be copied, and a stopped
	 * command may not have printed anything yet.
	 */
	const bool is_certain = attempt->stage.kind != STAGE_TERMINAL ||
	                        attempt->fault->kind == FAULT_NONE;

	if (scenario->output == NULL || !is_certain ||
	    exit_code(attempt) != scenario->status)
		return;
	check_output_in(attempt, "out");
	if (has_argument(scenario, "--tee=T"))
		check_output_in(attempt, "T");
}

void
check_files(struct attempt *attempt)
{
	check_directory(attempt, ".");
	check_directory(attempt, "R");
	check_report(attempt);
	check_output(attempt);
}
