/*
 * terminal [-n] KEYS LOG COMMAND [ARG]...: a terminal of 40 lines by 100
 * columns, whose session COMMAND leads. What is written to the FIFO KEYS is
 * typed; what the terminal gets to show is appended to LOG, so that a test may
 * empty it. Prints `ready PID NAME`: COMMAND, and the terminal. That goes away
 * when this process is killed, or when nobody has it open any more.
 *
 *	-n  nobody controls the terminal: it is open, and that is all
 */
#include "bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/ioctl.h>

static int
open_or_give_up(const char *path, int flags)
{
	const int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd == -1)
		give_up(path);
	return fd;
}

static _Noreturn void
be_command(int fd, bool controls, char *command[])
{
	reset_signals();
	if (setsid() == -1)
		give_up("setsid");
	if (controls && ioctl(fd, TIOCSCTTY, 0) == -1)
		give_up("TIOCSCTTY");
	for (int i = 0; i < 3; i++)
		(void)dup2(fd, i);
	execvp(command[0], command);
	give_up(command[0]);
}

/* Writes what can be read to the other descriptor. Returns false at the end. */
static bool
carry(int from, int to)
{
	char bytes[4096];
	ssize_t length = read(from, bytes, sizeof(bytes));

	if (length <= 0)
		return length == -1 && errno == EINTR;
	for (ssize_t done = 0; done < length;) {
		const ssize_t part =
		    write(to, bytes + done, (size_t)(length - done));

		if (part == -1)
			give_up("write");
		done += part;
	}
	return true;
}

int
main(int argc, char *argv[])
{
	const bool controls = argc < 2 || strcmp(argv[1], "-n") != 0;
	const struct winsize size = { .ws_row = 40, .ws_col = 100 };

	argv += controls ? 1 : 2;
	if (argc < (controls ? 4 : 5))
		return 99;
	bound_life();

	/* Open for writing too, the FIFO has no end. */
	const int keys = open_or_give_up(argv[0], O_RDWR);
	const int log = open_or_give_up(argv[1], O_WRONLY | O_CREAT | O_APPEND);
	const int master = open_or_give_up("/dev/ptmx", O_RDWR | O_NOCTTY);

	if (unlockpt(master) == -1 || ioctl(master, TIOCSWINSZ, &size) == -1)
		give_up("ptmx");

	const int slave = open_or_give_up(ptsname(master), O_RDWR | O_NOCTTY);
	const pid_t pid = fork();

	if (pid == -1)
		give_up("fork");
	if (pid == 0)
		be_command(slave, controls, argv + 2);
	(void)close(slave);
	dprintf(STDOUT_FILENO, "ready %d %s\n", (int)pid, ptsname(master));

	struct pollfd fds[] = { { .fd = master, .events = POLLIN },
		                { .fd = keys, .events = POLLIN } };

	for (;;) {
		if (poll(fds, 2, -1) == -1)
			continue;
		if (fds[0].revents != 0 && !carry(master, log))
			return 0;
		if (fds[1].revents != 0)
			(void)carry(keys, master);
	}
}
