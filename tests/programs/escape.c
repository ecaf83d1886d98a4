/*
 * escape [-x CODE] STEP...: starts one process that takes the STEPs away from
 * its parent, prints `ready PID` when it has taken them all, and lives on, or
 * exits with CODE.
 *
 *	fork      the parent exits: an orphan
 *	group     a process group of its own
 *	setsid    a session of its own
 *	root      works in /
 *	closed    has no open descriptor
 *	stubborn  ignores every signal that can be ignored
 *	undumpable is as /proc shows a setuid program or ssh-agent
 *	root-user has become root altogether (from a copy that is setuid root)
 *	stopped   has stopped itself (last)
 *	busy      computes all the time (last)
 *	empty     has executed itself with an empty environment (last)
 *
 * A daemon is `fork setsid fork root closed`.
 */
#include "bounded.h"

#include <fcntl.h>
#include <sys/prctl.h>

static int report_fd; /* the write end of the escapee; it closes when the steps
                         are done */

static void
ignore_every_signal(void)
{
	for (int i = 1; i <= SIGRTMAX; i++)
		(void)signal(i, SIG_IGN); /* SIGKILL and the like stay */
}

static void
close_every_descriptor(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		if (fd != report_fd)
			(void)close(fd);
	}
}

static void
take_step(const char *step)
{
	if (strcmp(step, "fork") == 0) {
		if (fork_bounded() != 0)
			_exit(0);
	} else if (strcmp(step, "group") == 0) {
		if (setpgid(0, 0) == -1)
			give_up("setpgid");
	} else if (strcmp(step, "setsid") == 0) {
		if (setsid() == -1)
			give_up("setsid");
	} else if (strcmp(step, "root") == 0) {
		if (chdir("/") == -1)
			give_up("chdir");
	} else if (strcmp(step, "closed") == 0) {
		close_every_descriptor();
	} else if (strcmp(step, "stubborn") == 0) {
		ignore_every_signal();
	} else if (strcmp(step, "undumpable") == 0) {
		if (prctl(PR_SET_DUMPABLE, 0) == -1)
			give_up("prctl");
	} else if (strcmp(step, "root-user") == 0) {
		if (setresuid(0, 0, 0) == -1)
			give_up("setresuid");
	} else if (strcmp(step, "stopped") != 0 && strcmp(step, "busy") != 0 &&
	           strcmp(step, "empty") != 0) {
		fprintf(stderr, "escape: no such step: %s\n", step);
		_exit(99);
	}
}

static _Noreturn void
be_escapee(char *steps[])
{
	const char *last = "";

	for (; *steps != NULL; steps++) {
		take_step(*steps);
		last = *steps;
	}

	const pid_t self = getpid();

	if (write(report_fd, &self, sizeof(self)) != sizeof(self))
		_exit(99);
	if (strcmp(last, "empty") == 0) {
		char *const arguments[] = { "escape", "--live", NULL };
		char *const nothing[] = { NULL };

		execve("/proc/self/exe", arguments, nothing);
		_exit(99);
	}
	(void)close(report_fd);
	if (strcmp(last, "stopped") == 0)
		(void)raise(SIGSTOP);
	while (strcmp(last, "busy") == 0)
		;
	live();
}

int
main(int argc, char *argv[])
{
	int code = -1;
	int pipe_fds[2];
	pid_t escapee = -1;
	char **steps = argv + 1;

	bound_life();
	if (argc > 1 && strcmp(argv[1], "--live") == 0)
		live();
	if (argc > 2 && strcmp(argv[1], "-x") == 0) {
		code = atoi(argv[2]);
		steps += 2;
	}
	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		give_up("pipe");

	if (fork_bounded() == 0) {
		(void)close(pipe_fds[0]);
		report_fd = pipe_fds[1];
		be_escapee(steps);
	}
	(void)close(pipe_fds[1]);
	if (read(pipe_fds[0], &escapee, sizeof(escapee)) != sizeof(escapee))
		give_up("the escapee said nothing");

	char end;

	if (read(pipe_fds[0], &end, 1) !=
	    0) /* closed by the escapee, or by its exec */
		give_up("the escapee said too much");
	while (*steps != NULL && steps[1] != NULL)
		steps++;
	if (*steps != NULL && strcmp(*steps, "stopped") == 0) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/stat",
		               (int)escapee);
		await_state(path, 'T');
	}

	say_ready(escapee);
	if (code >= 0)
		return code;
	live();
}
