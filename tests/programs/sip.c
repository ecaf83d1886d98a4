/*
 * sip [-c BYTES] [-p MS] [-w FILE] [-n] [-e] [-s] COMMAND [ARG]...: reads what
 * COMMAND writes to stdout, through a pipe that holds one page, slowly. What it
 * gets it writes to its own stdout, and it ends with COMMAND's code, or 128
 *plus the signal that COMMAND died by.
 *
 *	-c BYTES  takes at most BYTES at a time
 *	-p MS     pauses MS milliseconds before it takes anything
 *	-w FILE   takes nothing until there is FILE
 *	-n        takes nothing until COMMAND is dead, and then what is there
 *	-e        takes something once, and closes its end
 *	-s        a socket in place of the pipe
 */
#include "bounded.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PAGE_SIZE 4096

static size_t bytes = PAGE_SIZE;
static useconds_t pause_ms;
static bool leaves;

/* fds[0] is the reader's end. */
static void
open_channel(bool has_socket, int fds[2])
{
	const int size = PAGE_SIZE;

	if (has_socket) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) ==
		        -1 ||
		    setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &size,
		               sizeof(size)) == -1)
			give_up("socket");
	} else if (pipe2(fds, O_CLOEXEC) == -1 ||
	           fcntl(fds[1], F_SETPIPE_SZ, size) != size) {
		give_up("pipe");
	}
}

/* Reads until the end of file, or until a read would block. */
static void
take(int fd)
{
	char text[PAGE_SIZE];

	for (;;) {
		(void)usleep(pause_ms * 1000);

		const ssize_t length = read(fd, text, bytes);

		if (length <= 0)
			return;
		if (write(STDOUT_FILENO, text, (size_t)length) != length)
			give_up("write");
		if (leaves) {
			(void)close(fd);
			return;
		}
	}
}

static int
await(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid");
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
	                           : WEXITSTATUS(status);
}

static pid_t
run_into(int fd, char *const command[])
{
	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0) {
		if (dup2(fd, STDOUT_FILENO) == -1)
			give_up("dup2");
		execvp(command[0], command);
		give_up(command[0]);
	}
	(void)close(fd);
	return pid;
}

int
main(int argc, char *argv[])
{
	const char *file = NULL;
	bool is_stuck = false;
	bool has_socket = false;
	int fds[2];
	int option;
	int status;

	bound_life();
	while ((option = getopt(argc, argv, "+c:p:w:nes")) != -1) {
		switch (option) {
		case 'c':
			bytes = (size_t)atoi(optarg);
			break;
		case 'p':
			pause_ms = (useconds_t)atoi(optarg);
			break;
		case 'w':
			file = optarg;
			break;
		case 'n':
			is_stuck = true;
			break;
		case 'e':
			leaves = true;
			break;
		case 's':
			has_socket = true;
			break;
		default:
			return 99;
		}
	}
	if (optind == argc || bytes == 0 || bytes > PAGE_SIZE)
		return 99;
	open_channel(has_socket, fds);

	const pid_t pid = run_into(fds[1], argv + optind);

	if (is_stuck) {
		status = await(pid);
		/* Survivors may still hold the pipe. */
		(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
		take(fds[0]);
		return status;
	}
	while (file != NULL && access(file, F_OK) == -1)
		(void)usleep(10000);
	take(fds[0]);
	return await(pid);
}
