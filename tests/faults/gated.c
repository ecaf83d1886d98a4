/* Starts programs that wait for a gate to open. */
#include "gated.h"

#include "../programs/bounded.h"

#include <fcntl.h>

static void
open_as(const char *file, int flags, int fd)
{
	const int opened = open(file, flags, 0666);

	if (opened == -1 || dup2(opened, fd) == -1 || close(opened) == -1)
		give_up(file);
}

/* Executes PROGRAM once GATE is readable or has no writer any more. */
static _Noreturn void
execute(const struct program *program, int gate)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND;
	sigset_t none;
	char byte;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (program->terminal_fd == -1) {
		open_as("/dev/null", O_RDONLY, STDIN_FILENO);
		open_as(program->output, flags, STDOUT_FILENO);
	} else if (dup2(program->terminal_fd, STDIN_FILENO) == -1 ||
	           dup2(program->terminal_fd, STDOUT_FILENO) == -1) {
		give_up("terminal");
	}
	open_as(program->errors, flags, STDERR_FILENO);
	if (read(gate, &byte, 1) == -1)
		give_up("gate");
	(void)execv(program->path, program->argv);
	give_up(program->path);
}

pid_t
gated_start(const struct program *program, int *gate)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		give_up("pipe");

	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0) {
		(void)close(fds[1]);
		execute(program, fds[0]);
	}
	(void)close(fds[0]);
	*gate = fds[1];
	return pid;
}
