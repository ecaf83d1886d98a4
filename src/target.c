/* The target, from fork to exec. */
#include "target.h"

#include <sys/prctl.h>

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "enrol.h"
#include "fork.h"
#include "report.h"
#include "signals.h"
#include "testament.h"

#define DEFAULT_PATH "/usr/local/bin:/bin:/usr/bin" /* where PATH is unset */

static size_t
count_strings(char *const *strings)
{
	size_t count = 0;

	while (strings[count] != NULL)
		count++;
	return count;
}

/* Copies FROM to TO with ID in place of an older WDRUN_ID, or behind the rest.
 * TO has room for two more strings than FROM has. */
static void
add_id(char **to, char *const *from, char *id)
{
	const size_t name = strcspn(id, "=") + 1;
	bool is_placed = false;

	for (; *from != NULL; from++) {
		const bool is_id = strncmp(*from, id, name) == 0;

		if (!is_id)
			*to++ = *from;
		else if (!is_placed)
			*to++ = id;
		is_placed |= is_id;
	}
	if (!is_placed)
		*to++ = id;
	*to = NULL;
}

/* execvp(3) as POSIX wants it and musl has it not: what the kernel takes for
 * no program is a shell script. PATH is the file that was found. */
static void
execute_script(char *path, char *const command[])
{
	const size_t count = count_strings(command);
	/* cppcheck-suppress allocaCalled ; as in become_target */
	char **const script = alloca((count + 2) * sizeof(*script));
	static char shell[] = "/bin/sh";

	script[0] = shell;
	memcpy(&script[1], &command[0], (count + 1) * sizeof(*script));
	script[1] = path;
	(void)execv(shell, script);
}

/* Tries NAME in each directory of PATH for a script; returns if none is. */
static void
execute_script_in_path(char *const command[])
{
	const size_t name_size = strlen(command[0]) + 1;
	const char *directory = NULL;
	char path[4096];

	for (char **string = environ; *string != NULL; string++) {
		if (strncmp(*string, "PATH=", 5) == 0)
			directory = *string + 5;
	}
	if (directory == NULL)
		directory = DEFAULT_PATH;

	for (;;) {
		const size_t length = strcspn(directory, ":");

		if (length + name_size < sizeof(path)) {
			/* An empty element is the current directory. */
			memcpy(path, directory, length);
			path[length] = '/';
			memcpy(path + length + (length > 0), command[0],
			       name_size);
			(void)execv(path, command);
			if (errno == ENOEXEC)
				execute_script(path, command);
		}
		if (directory[length] == '\0')
			return;
		directory += length + 1;
	}
}

static void
execute(char *const command[])
{
	(void)execvp(command[0], command);
	if (errno != ENOEXEC)
		return;
	if (strchr(command[0], '/') != NULL)
		execute_script(command[0], command);
	else
		execute_script_in_path(command);
	errno = ENOEXEC;
}

static void
restore_sigchld(const struct run *run)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (run->ignores_sigchld)
		(void)sigaction(SIGCHLD, &ignore, NULL);
}

/* Has the front tell errno. */
static _Noreturn void
fail(const struct run *run, int status)
{
	testament_exec_failed(run, errno);
	report_note_exec_failure(run, errno);
	_exit(status);
}

/* Async-signal-safe, and so is all that it calls, but for enrol(): which is
 * as safe as in any process with one thread, whose fork interrupted nothing. */
static _Noreturn void
become_target(struct run *run, pid_t supervisor)
{
	/* Room that needs no release and no malloc(3), which is not
	 * async-signal-safe: a pointer a string, and the strings themselves
	 * have had their place on the same stack since execve(2). */
	char **const environment =
	    /* cppcheck-suppress allocaCalled ; for that reason */
	    alloca((count_strings(environ) + 2) * sizeof(*environment));

	/*
	 * Armed only from now on: a supervisor that died between fork and this
	 * line would never be noticed. So arm first, then look who the parent
	 * is. prctl(2), PR_SET_PDEATHSIG.
	 */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		fail(run, STATUS_FAILED);
	if (getppid() != supervisor)
		_exit(STATUS_FAILED);

	if (!run->shares_group)
		(void)setsid(); /* a process just forked leads no group */
	if (enrol(run) == -1)
		_exit(STATUS_FAILED);
	if (run->options.no_stdin && dup2(run->null_fd, STDIN_FILENO) == -1)
		fail(run, STATUS_FAILED);
	if (output_give(run) == -1)
		fail(run, STATUS_FAILED);
	restore_sigchld(run);
	add_id(environment, environ, run->id);
	environ = environment;
	(void)signals_set_mask(run->callers_mask);

	execute(run->options.command);
	fail(run, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

void
target_note(struct run *run, pid_t target)
{
	run->target = target;
	run->tree.target = target;
	run->tree.target_group = run->shares_group ? 0 : target;
}

int
target_start(struct run *run)
{
	const pid_t supervisor = getpid();
	const pid_t target = process_fork();

	if (target == -1)
		return -1;
	if (target == 0)
		become_target(run, supervisor);
	/* Not by the target itself: that would be on its way to exec. */
	testament_name_target(run, target);
	target_note(run, target);
	return 0;
}
