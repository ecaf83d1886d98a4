/* The caller's terminal: who has it, its modes, its keys. */
#include "io/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"

#define FISH_TRIES 5

bool
terminal_is_controlling(int fd)
{
	/* tcgetsid(3) fails for any other terminal (ioctl_tty(2), TIOCGSID);
	 * but of a pseudo-terminal's master it returns the slave's session. */
	const pid_t session = tcgetsid(fd);

	return session != -1 && session == getsid(0);
}

/* Whether this job has the foreground of the terminal FD. The group does not
 * tell: from another PID namespace it may be 0. A read of 0 bytes fails in the
 * background with EIO, as SIGTTIN is blocked (job_control() in the kernel); in
 * the foreground with EAGAIN, if another process waits in a read. */
static bool
has_foreground(int fd)
{
	char none;

	return tcgetpgrp(fd) != -1 &&
	       (read(fd, &none, 0) == 0 || errno == EAGAIN);
}

/* Whether this job has, or is about to get, the foreground of the terminal FD:
 * fish(1) gives the foreground to a job that runs already. */
static bool
is_given(int fd)
{
	const pid_t shell = getpgid(getppid());

	for (int tries = FISH_TRIES; !has_foreground(fd); tries--) {
		if (tries == 0 || tcgetpgrp(fd) != shell || shell == getpgrp())
			return false;
		duration_sleep(MILLISECOND);
	}
	return true;
}

bool
terminal_share(struct terminal *terminal)
{
	const bool is_stdin = terminal_is_controlling(STDIN_FILENO);
	const int fd = is_stdin
	                   ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
	                   : open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1 || (!is_stdin && !is_given(fd)) ||
	    tcgetattr(fd, &terminal->facts->modes) == -1) {
		fds_close(fd);
		return is_stdin;
	}
	terminal->fd = fd;
	terminal->was_foreground = tcgetpgrp(fd) == getpgrp();
	return true;
}

void
terminal_restore(const struct terminal *terminal)
{
	const pid_t group = terminal->fd == -1 ? -1 : tcgetpgrp(terminal->fd);

	/* A living group in the foreground, a shell's, has chosen its modes. A
	 * dead one may have been a job of a shell that was the command. */
	if (group != getpgrp() &&
	    (group <= 1 || kill(-group, 0) == 0 || errno != ESRCH))
		return;
	/* SIGTTOU is blocked, or this would stop us: tty_check_change(). */
	(void)tcsetattr(terminal->fd, TCSANOW, &terminal->facts->modes);
	if (terminal->was_foreground && group != getpgrp())
		(void)tcsetpgrp(terminal->fd, getpgrp());
}

void
terminal_take(struct terminal *terminal)
{
	struct terminal_facts *const facts = terminal->facts;
	struct termios raw;

	if (!terminal->is_keyboard || facts->is_over)
		return;
	terminal->in_foreground = has_foreground(terminal->fd);
	/* Another process may have changed the modes since. */
	if (!terminal->in_foreground || tcgetattr(terminal->fd, &raw) == -1 ||
	    (facts->is_raw && (raw.c_lflag & ISIG) == 0))
		return;
	facts->modes = raw;
	cfmakeraw(&raw);
	/* Other programs that write to this terminal need the output modes. */
	if (!terminal->shows_output)
		raw.c_oflag = facts->modes.c_oflag;
	/* Before tcsetattr(3): the supervisor gives the terminal back if the
	 * front is killed; and after: it may just have done that. */
	facts->is_raw = true;
	(void)tcsetattr(terminal->fd, TCSANOW, &raw);
	facts->is_raw = true;
}

void
terminal_give_back(const struct terminal *terminal, bool for_good)
{
	struct terminal_facts *const facts = terminal->facts;
	struct termios now;

	facts->is_over |= for_good;
	if (!terminal->is_keyboard || !facts->is_raw)
		return;
	/* Modes with ISIG are another process's choice since. After a failure
	 * IS_RAW stays true: the other watcher tries again. */
	if (tcgetattr(terminal->fd, &now) == -1 ||
	    ((now.c_lflag & ISIG) == 0 &&
	     tcsetattr(terminal->fd, TCSANOW, &facts->modes) == -1))
		return;
	facts->is_raw = false;
}

static void
signal_job(struct terminal *terminal, int master)
{
	struct termios modes;

	if (tcgetattr(master, &modes) == -1 || (modes.c_lflag & ISIG) == 0 ||
	    tcgetpgrp(master) != terminal->facts->group)
		return;
	for (size_t i = 0; i < terminal->keys.size; i++) {
		const cc_t key = (cc_t)terminal->keys.text[i];

		if (key == _POSIX_VDISABLE || terminal->is_literal)
			terminal->is_literal = false;
		else if (key == modes.c_cc[VINTR] || key == modes.c_cc[VQUIT])
			(void)kill(0,
			           key == modes.c_cc[VINTR] ? SIGINT : SIGQUIT);
		else
			terminal->is_literal = key == modes.c_cc[VLNEXT] &&
			                       (modes.c_lflag & ICANON) != 0 &&
			                       (modes.c_lflag & IEXTEN) != 0;
	}
}

void
terminal_read_keys(struct terminal *terminal, int master)
{
	static char text[512];
	const size_t size = sizeof(text) - 1;
	ssize_t length = read(terminal->fd, text, size);
	struct termios now;

	/* Another process has made the terminal canonical again ("stty sane"):
	 * then a read that ends before a newline has ended at a Ctrl-D. */
	if (length >= 0 && (size_t)length < size &&
	    (length == 0 || text[length - 1] != '\n') &&
	    tcgetattr(terminal->fd, &now) == 0 && (now.c_lflag & ICANON) != 0)
		text[length++] = (char)now.c_cc[VEOF];
	if (length > 0) {
		terminal->keys = (struct part){ text, (size_t)length, 0 };
		signal_job(terminal, master);
	}
	if (length == -1 && errno == EIO) /* another job has it */
		terminal->in_foreground = has_foreground(terminal->fd);
}
