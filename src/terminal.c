/* The terminal that the command shares: who has it, and what it was like. */
#include "terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "procfs.h"

bool
terminal_is_stdin(void)
{
	/* Answers for the caller's controlling terminal only: TIOCGSID in
	 * ioctl_tty(2). */
	const pid_t session = tcgetsid(STDIN_FILENO);

	/* The master of a pseudo-terminal answers for its slave. */
	return session != -1 && session == getsid(0);
}

/*
 * For a terminal that is not our session's: su(1) puts a command in a session
 * of its own and leaves it the terminal, which it has as long as su's job has
 * it. The nearest of those who started us that has that terminal knows.
 */
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
terminal_is_ours(int fd)
{
	char none;

	if (tcgetpgrp(fd) == -1)
		return errno == ENOTTY && isatty(fd) && ancestor_has(fd);
	/* Not by number: in a PID namespace of our own the groups that have the
	 * terminal may all be 0. A read in the background, with SIGTTIN
	 * blocked, is EIO, be it of nothing (job_control() in the kernel). */
	return read(fd, &none, 0) == 0;
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
	terminal->was_foreground = tcgetpgrp(STDIN_FILENO) == terminal->group;
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

/*
 * Whether the terminal is still the run's, or that of a group which has died
 * with the run, as a shell's jobs do. Not tcgetpgrp(3): it answers in the
 * terminal's session only, and the supervisor has left that.
 */
static bool
is_unclaimed(const struct terminal *terminal)
{
	struct procfs_stat leader;

	if (procfs_read_stat(terminal->session, &leader) == -1)
		return false;
	return leader.terminal_group == terminal->group ||
	       (leader.terminal_group > 1 &&
	        kill(-leader.terminal_group, 0) == -1 && errno == ESRCH);
}

void
terminal_restore(const struct terminal *terminal)
{
	if (!terminal->is_known || !is_unclaimed(terminal))
		return;

	const int fd = open_again(terminal);

	if (fd == -1)
		return;
	/* With SIGTTOU blocked, or from another session, this does not stop
	 * us (tty_check_change() in the kernel). */
	(void)tcsetattr(fd, TCSANOW, &terminal->modes);
	(void)close(fd);
}

void
terminal_reclaim(const struct terminal *terminal)
{
	if (!terminal->is_known || !terminal->was_foreground)
		return;

	const int fd = open_again(terminal);

	if (fd == -1)
		return;

	const pid_t group = tcgetpgrp(fd);

	if (group > 1 && group != terminal->group && kill(-group, 0) == -1 &&
	    errno == ESRCH)
		(void)tcsetpgrp(fd, terminal->group);
	(void)close(fd);
}
