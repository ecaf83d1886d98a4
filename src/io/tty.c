/* The terminal that the command shares with the parent: modes, foreground. */
#include "io/tty.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "proc/procstat.h"

#define FIRST_OTHER 3
#define TRIES       20

bool
tty_is_controlling(int fd)
{
	/* tcgetsid(3) fails for a terminal that is not the controlling terminal
	 * (ioctl_tty(2), TIOCGSID); but for the master of a pseudo-terminal, it
	 * returns the session of the slave. */
	const pid_t session = tcgetsid(fd);

	return session != -1 && session == getsid(0);
}

/* For a terminal of another session, which su(1) leaves as stdin of a command
 * in a new session: whether the nearest ancestor that has FD as controlling
 * terminal is in the foreground. */
static bool
ancestor_has(int fd)
{
	struct procstat ancestor;
	struct stat file;

	if (fstat(fd, &file) == -1)
		return false;
	for (pid_t pid = getppid(); pid > 1; pid = ancestor.parent) {
		if (procstat_read(pid, &ancestor) == -1)
			return false;
		if (ancestor.terminal == procstat_terminal(file.st_rdev))
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
	/* Not by the number of the group: from another PID namespace each group
	 * may be 0. With SIGTTIN blocked, a read in the background fails with
	 * EIO, even of 0 bytes (job_control() in the kernel). */
	return read(fd, &none, 0) == 0;
}

/* Whether this process's job has, or is about to get, the foreground of the
 * terminal on FD: fish(1) gives the foreground to a job that runs already. */
static bool
is_given(int fd)
{
	const pid_t shell = getpgid(getppid());
	int tries = TRIES;

	while (!tty_is_ours(fd)) {
		if (tries-- == 0 || tcgetpgrp(fd) != shell ||
		    shell == getpgrp())
			return false;
		duration_sleep(MILLISECOND);
	}
	return true;
}

bool
tty_open(struct tty *tty)
{
	const bool is_stdin = tty_is_controlling(STDIN_FILENO);

	tty->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_OTHER)
	                   : open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tty->fd != -1 && ((!is_stdin && !is_given(tty->fd)) ||
	                      tcgetattr(tty->fd, &tty->modes) == -1)) {
		(void)close(tty->fd);
		tty->fd = -1;
	}
	if (tty->fd == -1)
		return is_stdin;
	tty->session = getsid(0);
	tty->group = getpgrp();
	tty->was_foreground = tcgetpgrp(tty->fd) == tty->group;
	return true;
}

/* Whether the foreground group is still the front's, or is dead: a job of a
 * shell that was the command. Not by tcgetpgrp(3), which fails in the
 * supervisor, outside the terminal's session. */
static bool
is_unclaimed(const struct tty *tty)
{
	struct procstat leader;

	if (procstat_read(tty->session, &leader) == -1)
		return false;
	return leader.terminal_group == tty->group ||
	       (leader.terminal_group > 1 &&
	        kill(-leader.terminal_group, 0) == -1 && errno == ESRCH);
}

void
tty_restore(const struct tty *tty)
{
	if (tty->fd == -1)
		return;
	/* With SIGTTOU blocked, or from another session, tcsetattr(3) does not
	 * stop the process (tty_check_change() in the kernel). */
	if (is_unclaimed(tty))
		(void)tcsetattr(tty->fd, TCSANOW, &tty->modes);
	if (!tty->was_foreground)
		return;

	const pid_t group = tcgetpgrp(tty->fd); /* fails in the supervisor */

	if (group > 1 && group != tty->group && kill(-group, 0) == -1 &&
	    errno == ESRCH)
		(void)tcsetpgrp(tty->fd, tty->group);
}
