/* The terminal that the command shares with the parent: modes and owner. */
#include "io/tty.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "proc/procfs.h"

bool
tty_is_stdin(void)
{
	/* tcgetsid(3) fails for a terminal that is not this process's
	 * controlling terminal (TIOCGSID in ioctl_tty(2)); but the master of a
	 * pseudo-terminal tells the session of the slave. */
	const pid_t session = tcgetsid(STDIN_FILENO);

	return session != -1 && session == getsid(0);
}

/* For a terminal of another session, as su(1) leaves on stdin of a command in a
 * new session: whether the nearest ancestor whose controlling terminal FD is
 * has a job in the foreground. */
static bool
ancestor_has(int fd)
{
	struct procfs_stat ancestor;
	struct stat file;

	if (fstat(fd, &file) == -1)
		return false;
	for (pid_t pid = getppid(); pid > 1; pid = ancestor.parent) {
		if (procfs_read_stat(pid, &ancestor) == -1)
			return false;
		if (ancestor.terminal == procfs_number(file.st_rdev))
			return ancestor.group == ancestor.terminal_group;
	}
	return false;
}

bool
tty_is_ours(int fd)
{
	char none;

	if (tcgetpgrp(fd) == -1)
		return errno == ENOTTY && isatty(fd) && ancestor_has(fd);
	/* The group's number is no answer: from another PID namespace each
	 * group may be 0. But a read in the background with SIGTTIN blocked
	 * fails with EIO, even of 0 bytes (job_control() in the kernel). */
	return read(fd, &none, 0) == 0;
}

void
tty_save(struct tty *tty)
{
	struct stat file;

	tty->is_known = tcgetattr(STDIN_FILENO, &tty->modes) == 0 &&
	                fstat(STDIN_FILENO, &file) == 0 &&
	                ttyname_r(STDIN_FILENO, tty->path, TTY_PATH_SIZE) == 0;
	if (!tty->is_known)
		return;
	tty->device = file.st_rdev;
	tty->session = getsid(0);
	tty->group = getpgrp();
	tty->was_foreground = tcgetpgrp(STDIN_FILENO) == tty->group;
}

/* Opens the terminal anew, since front and supervisor have closed their own
 * descriptors of it. */
static int
open_again(const struct tty *tty)
{
	struct stat file;
	const int fd =
	    open(tty->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1)
		return -1;
	if (fstat(fd, &file) == 0 && S_ISCHR(file.st_mode) &&
	    file.st_rdev == tty->device)
		return fd;
	(void)close(fd);
	return -1;
}

/* Whether the terminal still has the parent's group in the foreground, or a
 * dead group: a job of a shell that was the command. Not by tcgetpgrp(3), which
 * fails in the supervisor, outside the terminal's session. */
static bool
is_unclaimed(const struct tty *tty)
{
	struct procfs_stat leader;

	if (procfs_read_stat(tty->session, &leader) == -1)
		return false;
	return leader.terminal_group == tty->group ||
	       (leader.terminal_group > 1 &&
	        kill(-leader.terminal_group, 0) == -1 && errno == ESRCH);
}

static void
reclaim(const struct tty *tty, int fd)
{
	const pid_t group = tcgetpgrp(fd); /* fails in the supervisor */

	if (group > 1 && group != tty->group && kill(-group, 0) == -1 &&
	    errno == ESRCH)
		(void)tcsetpgrp(fd, tty->group);
}

void
tty_restore(const struct tty *tty)
{
	const int fd = tty->is_known ? open_again(tty) : -1;

	if (fd == -1)
		return;
	/* With SIGTTOU blocked, or from another session, tcsetattr(3) does not
	 * stop the process (tty_check_change() in the kernel). */
	if (is_unclaimed(tty))
		(void)tcsetattr(fd, TCSANOW, &tty->modes);
	if (tty->was_foreground)
		reclaim(tty, fd);
	(void)close(fd);
}
