/* The terminal that the command shares: who has it, and what it was like. */
#include "terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"

bool
terminal_is_stdin(void)
{
	/* Answers for the caller's controlling terminal only: TIOCGSID in
	 * ioctl_tty(2). */
	return tcgetsid(STDIN_FILENO) != -1;
}

void
terminal_remember(struct terminal *terminal)
{
	struct stat file;

	terminal->is_known =
	    tcgetattr(STDIN_FILENO, &terminal->modes) == 0 &&
	    fstat(STDIN_FILENO, &file) == 0 &&
	    ttyname_r(STDIN_FILENO, terminal->path, TERMINAL_PATH_SIZE) == 0;
	if (!terminal->is_known)
		return;
	terminal->device = file.st_rdev;
	terminal->session = getsid(0);
	terminal->group = getpgrp();
}

/* The terminal, opened anew, since no descriptor of the caller's is kept. */
static int
open_again(const struct terminal *terminal)
{
	struct stat file;
	const int fd =
	    open(terminal->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1)
		return -1;
	if (fstat(fd, &file) == 0 && S_ISCHR(file.st_mode) &&
	    file.st_rdev == terminal->device)
		return fd;
	(void)close(fd);
	return -1;
}

void
terminal_restore(const struct terminal *terminal)
{
	struct procfs_stat leader;

	/* Not tcgetpgrp(3): it answers in the terminal's session only, and
	 * the supervisor has left that. */
	if (!terminal->is_known ||
	    procfs_read_stat(terminal->session, &leader) == -1 ||
	    leader.terminal_group != terminal->group)
		return;

	const int fd = open_again(terminal);

	if (fd == -1)
		return;
	/* A signal blocked or another session: this never stops us with
	 * SIGTTOU (tty_check_change() in the kernel). */
	(void)tcsetattr(fd, TCSANOW, &terminal->modes);
	(void)close(fd);
}
