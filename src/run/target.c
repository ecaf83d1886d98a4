/* The target: the process that becomes COMMAND, from fork to exec. */
#include <sys/prctl.h>
#include <sys/stat.h>

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/message.h"
#include "proc/signals.h"
#include "run/run.h"

#define LINE_SIZE 256 /* as much as the kernel reads: BINPRM_BUF_SIZE */
#define SYNTAX    " \t\n;&|<>()$`="

/* As execvp(3) in POSIX, and unlike musl's: a file that is no program to the
 * kernel (ENOEXEC) is a shell script, which the shell finds in PATH itself. */
static void
execute(char *const command[], char *const environment[])
{
	static char shell[][16] = { "/bin/sh", "-c", "exec \"$0\" \"$@\"" };
	size_t count = 1; /* of the words of COMMAND, and NULL */

	(void)execvpe(command[0], command, environment);
	if (errno != ENOEXEC)
		return;
	while (command[count - 1] != NULL)
		count++;

	char **const script = alloca((3 + count) * sizeof(*script));

	for (size_t i = 0; i < 3 + count; i++)
		script[i] = i < 3 ? shell[i] : command[i - 3];
	(void)execve(shell[0], script, environment);
	errno = ENOEXEC;
}

void
target_prepare(struct run *run)
{
	signals_mask(SIG_SETMASK, SIGNALS_ALL, &run->callers_mask);
	/* With umask 777, no other run could read a lock or the registry. */
	run->callers_umask = umask(0);
	(void)umask(run->callers_umask & ~(mode_t)S_IRWXU);
	/* If SIGCHLD is ignored, the status of children is lost: wait(2). */
	run->ignores_sigchld = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
	run->shares_group = !run->output.has_pty && !run->options->setsid &&
	                    (terminal_open_shared(&run->output.terminal) ||
	                     run->options->foreground);
}

/* After execvp(3) of COMMAND has failed with ENOENT: if COMMAND itself is
 * there, notes the interpreter that then is missing. */
static void
find_interpreter(struct facts *facts, const char *command)
{
	const char *path = strchr(command, '/') == NULL ? getenv("PATH") : "";

	while (path != NULL) {
		const size_t length = strcspn(path, ":");
		char file[PATH_MAX];
		char line[LINE_SIZE] = "";

		(void)snprintf(file, sizeof(file), "%.*s%s%s", (int)length,
		               path, length == 0 ? "" : "/", command);

		const int fd =
		    open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		path = path[length] == '\0' ? NULL : path + length + 1;
		/* read(2) refuses a directory of that name. */
		if (fd == -1 || read(fd, line, sizeof(line) - 1) <= 0)
			continue;

		const bool is_script = strncmp(line, "#!", 2) == 0;
		const char *const found =
		    is_script ? line + 2 + strspn(line + 2, " \t")
		              : "the dynamic loader (ld.so)";
		const size_t end = strcspn(found, is_script ? " \t\r\n" : "");

		(void)snprintf(facts->interpreter, sizeof(facts->interpreter),
		               "%.*s%s", (int)end, found,
		               found[end] == '\r' ? "\\r (CR LF ends the line)"
		                                  : "");
		return;
	}
}

/* Ends the target before its exec, because of errno. */
static _Noreturn void
fail(const struct run *run, int status)
{
	run->facts->exec_error = errno;
	if (status == STATUS_NOT_FOUND)
		find_interpreter(run->facts, run->options->command[0]);
	_exit(status);
}

/* The variables by which systemd(1) tells a process, by its PID, that sockets
 * or a watchdog are meant for it: sd_listen_fds(3), sd_watchdog_enabled(3).
 * Where such a variable has the PID of FRONT, COMMAND gets its own there. */
static void
adopt_pids(pid_t front)
{
	static const char *const names[] = { "LISTEN_PID", "WATCHDOG_PID",
		                             "SYSTEMD_EXEC_PID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *const pid = getenv(names[i]);
		char own[16];

		if (pid == NULL || strtol(pid, NULL, 10) != front)
			continue;
		(void)snprintf(own, sizeof(own), "%d", getpid());
		(void)setenv(names[i], own, true);
		(void)unsetenv("LISTEN_PIDFDID"); /* of the same process */
	}
}

/* pinentry(1) opens GPG_TTY, the caller's terminal. But there, the front reads
 * the keys of a passphrase, too, and the pseudo-terminal would show them. */
static void
adopt_terminal(void)
{
	const char *const name = ttyname(STDOUT_FILENO);

	if (name != NULL && getenv("GPG_TTY") != NULL)
		(void)setenv("GPG_TTY", name, true);
}

/* Ctrl-Z before the exec would stop the target, and with it the supervisor,
 * which waits in vfork(2). This handler lasts until the exec. */
static void
drop_early_stop(int signal)
{
	(void)signal;
}

/* The target leads a process group in the supervisor's session. But setsid(1)
 * that leads one forks, and exits with 0 at once; else its setsid(2) makes a
 * group of the same number. On a pseudo-terminal it has to lead. */
static void
lead_group(const struct run *run)
{
	const char *const command = run->options->command[0];
	const char *const slash = strrchr(command, '/');

	if (run->output.has_pty ||
	    strcmp(slash == NULL ? command : slash + 1, "setsid") != 0)
		(void)setpgid(0, 0);
}

/* malloc(3) and the like are safe here: the supervisor has one thread. */
_Noreturn void
target_become(struct run *run)
{
	/* The target notes it: the supervisor may be killed before the exec. */
	run->target->pid = getpid();
	/* Armed first, since a supervisor that is dead sends no signal. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		fail(run, STATUS_FAILED);
	if (getppid() != run->supervisor)
		(void)kill(getpid(), SIGKILL); /* as that signal would have */

	if (!run->shares_group)
		lead_group(run);
	/* No process of the command may live that --reap does not know of. */
	if (record_start(&run->record, run->cleanups,
	                 run->options->cleanups.count,
	                 duration_add(duration_of_clock(CLOCK_REALTIME),
	                              run->options->timeout)) == -1) {
		run->facts->refusal = "cannot put the run on record";
		fail(run, STATUS_FAILED);
	}
	if (run->options->no_stdin)
		(void)close(STDIN_FILENO);
	if ((run->options->no_stdin && fds_fill_standard(0) == -1) ||
	    output_connect(&run->output) == -1)
		fail(run, STATUS_FAILED);
	if (!signal_is_ignored(SIGTSTP))
		(void)signal(SIGTSTP, drop_early_stop);
	/* As they were before target_prepare(). */
	if (run->ignores_sigchld)
		(void)signal(SIGCHLD, SIG_IGN);
	signals_mask(SIG_SETMASK, run->callers_mask, NULL);
	(void)umask(run->callers_umask);

	size_t count = 0;

	adopt_pids(run->front);
	if (run->output.terminal.is_keyboard)
		adopt_terminal();
	(void)unsetenv(RUNID_VARIABLE);
	if (run->options->keep != NULL)
		(void)setenv(KEEP_VARIABLE, run->options->keep, true);
	while (environ[count] != NULL)
		count++;

	/* Not by setenv(3): malloc(3) would cost a fifteenth of a start. */
	char **const environment = alloca((count + 2) * sizeof(*environment));

	memcpy(environment, environ, count * sizeof(*environment));
	environment[count] = run->facts->id_variable;
	environment[count + 1] = NULL;
	execute(run->options->command, environment);
	fail(run, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

void
target_tell_failure(const struct run *run)
{
	const char *const command = run->options->command[0];
	const char *const interpreter = run->facts->interpreter;
	const int error = run->facts->exec_error;
	const char *const why = strerror(error);
	int64_t ns;

	/* COMMAND was perhaps not meant as the name of a file. */
	const bool may_be_else = (error == ENOENT || error == ENAMETOOLONG) &&
	                         *command != '\0' &&
	                         (command[strcspn(command, SYNTAX)] != '\0' ||
	                          strchr(command, '/') == NULL);

	/* A whole script may be one word. */
	if (run->facts->refusal != NULL)
		message("%s: %s", run->facts->refusal, why);
	else if (run->options->is_timeout)
		message("failed to run command '%.255s': %s", command, why);
	else if (run->target->pid == 0)
		message("cannot fork for '%.255s': %s", command, why);
	else if (*interpreter != '\0')
		message("cannot run '%.255s': the interpreter, or what it "
		        "needs, is missing: %s",
		        command, interpreter);
	else if (may_be_else && *command <= '9' &&
	         duration_parse(command, &ns) == 0)
		message("cannot run '%s': no such program; did you mean -t %s?",
		        command, command);
	else
		message("cannot run '%.255s': %s", command,
		        may_be_else ? "no such program; shell syntax and "
		                      "built-ins need sh -c '...'"
		                    : why);
}
