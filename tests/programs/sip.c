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
#include <sys/socket.h>
#include <sys/wait.h>

#define PAGE_SIZE 4096

struct manner {
	size_t bytes;
	useconds_t pause_ms;
	const char *file;
	int is_stuck;
	int leaves;
	int has_socket;
};

/* fds[0] is the reader's end. */
static void
open_channel(const struct manner *manner, int fds[2])
{
	const int size = PAGE_SIZE;

	if (manner->has_socket) {
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
take(int fd, const struct manner *manner)
{
	char text[PAGE_SIZE];

	for (;;) {
		(void)usleep(manner->pause_ms * 1000);

		const ssize_t length = read(fd, text, manner->bytes);

		if (length <= 0)
			return;
		if (write(STDOUT_FILENO, text, (size_t)length) != length)
			give_up("write");
		if (manner->leaves) {
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
	struct manner manner = { .bytes = PAGE_SIZE };
	int fds[2];
	int option;
	int status;

	bound_life();
	while ((option = getopt(argc, argv, "+c:p:w:nes")) != -1) {
		switch (option) {
		case 'c':
			manner.bytes = (size_t)atoi(optarg);
			break;
		case 'p':
			manner.pause_ms = (useconds_t)atoi(optarg);
			break;
		case 'w':
			manner.file = optarg;
			break;
		case 'n':
			manner.is_stuck = 1;
			break;
		case 'e':
			manner.leaves = 1;
			break;
		case 's':
			manner.has_socket = 1;
			break;
		default:
			return 99;
		}
	}
	if (optind == argc || manner.bytes == 0 || manner.bytes > PAGE_SIZE)
		return 99;
	open_channel(&manner, fds);

	const pid_t pid = run_into(fds[1], argv + optind);

	if (manner.is_stuck) {
		status = await(pid);
		/* Survivors may still hold the pipe. */
		(void)fcntl(fds[0], F_SETFL, O_NONBLOCK);
		take(fds[0], &manner);
		return status;
	}
	while (manner.file != NULL && access(manner.file, F_OK) == -1)
		(void)usleep(10000);
	take(fds[0], &manner);
	return await(pid);
}
