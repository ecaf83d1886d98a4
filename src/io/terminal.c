/* The caller's terminal: who has it, its modes, its keys. */
#include "io/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "proc/procfs.h"

#define FISH_TRIES  5
#define PATIENCE_MS 200

bool
terminal_is_controlling(int fd)
{
	const mode_t mode = fds_look_at(fd, "").mode;

	/* An ioctl(2) may hang on another file. On another terminal it fails
	 * (TIOCGSID), but on a master it gives the slave's session. */
	return (mode == 0 || S_ISCHR(mode)) && tcgetsid(fd) == getsid(0);
}

bool
terminal_types_nothing(void)
{
	return S_ISCHR(fds_look_at(STDIN_FILENO, "").mode) &&
	       !isatty(STDIN_FILENO);
}

bool
terminal_has_foreground(int fd)
{
	char none;

	if (getpgrp() != 0)
		return tcgetpgrp(fd) == getpgrp();
	/* Each job from outside of this PID namespace has the number 0 here. A
	 * read of no bytes takes no key. In the background it fails with EIO;
	 * else it may wait for another reader, if FD waits: n_tty_read(). */
	return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 ||
	       read(fd, &none, 0) != -1 || errno != EIO;
}

/* Whether this job has, or is about to get, the foreground of the terminal FD:
 * fish(1) gives the foreground to a job that runs already. */
static bool
is_given(int fd)
{
	const pid_t shell = getpgid(getppid());

	for (int tries = FISH_TRIES; !terminal_has_foreground(fd); tries--) {
		if (tries == 0 || tcgetpgrp(fd) != shell || shell == getpgrp())
			return false;
		duration_sleep(MILLISECOND);
	}
	return true;
}

bool
terminal_open_shared(struct terminal *terminal)
{
	const bool is_stdin = terminal_is_controlling(STDIN_FILENO);
	int fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd == -1 && is_stdin)
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
	if (fd == -1 || (!is_stdin && !is_given(fd)) ||
	    tcgetattr(fd, &terminal->facts->modes) == -1) {
		fds_close(fd);
		return is_stdin;
	}
	/* No modes are noted in the "&" of a script, which may be asking for a
	 * password. A shell that makes a group of us is no script. */
	if (getpgrp() != getpid() && terminal_types_nothing())
		fds_close(fd);
	else
		terminal->fd = fd;
	return true;
}

bool
terminal_is_changed(const struct terminal *terminal)
{
	const struct termios *const old = &terminal->facts->modes;
	struct termios now = { .c_cc = { 0 } };

	return tcgetattr(terminal->fd, &now) == 0 &&
	       (now.c_iflag != old->c_iflag || now.c_oflag != old->c_oflag ||
	        now.c_cflag != old->c_cflag || now.c_lflag != old->c_lflag ||
	        memcmp(now.c_cc, old->c_cc, sizeof(old->c_cc)) != 0);
}

bool
terminal_may_be_set_by(pid_t pid, bool is_of_run)
{
	struct procfs_list fds; /* unused pages cost nothing, nor RLIMIT_DATA */
	char path[32];
	struct stat process;
	struct procstat stat;

	(void)snprintf(path, sizeof(path), "%d", pid);
	if (fstatat(procfs_fd(), path, &process, 0) == 0 &&
	    process.st_uid != geteuid())
		return true;
	if (procstat_read_status(pid, &stat) == -1 || stat.is_in_exec)
		return false; /* its links may hang */
	procfs_list_of(pid, "fd", &fds);
	for (size_t i = 0; i < fds.count; i++) {
		const int fd = fds.numbers[i];
		char link[32] = "";

		/* A filter beside the run, too, has it as its output. */
		if (fd == STDERR_FILENO || (fd == STDOUT_FILENO && !is_of_run))
			continue;
		(void)snprintf(path, sizeof(path), "%d/fd/%d", pid, fd);
		if (readlinkat(procfs_fd(), path, link, sizeof(link) - 1) > 0 &&
		    (strncmp(link, "/dev/tty", strlen("/dev/tty")) == 0 ||
		     strncmp(link, "/dev/pts/", strlen("/dev/pts/")) == 0))
			return true;
	}
	return false;
}

static bool
other_may_have_set_modes(pid_t job, pid_t caller)
{
	static struct procfs_list all;

	procfs_list_names(procfs_fd(), ".", &all);
	for (size_t i = 0; i < all.count; i++) {
		const pid_t pid = all.numbers[i];

		if (getpgid(pid) == job && !procfs_descends(caller, pid) &&
		    !procfs_descends(pid, getpid()) &&
		    terminal_may_be_set_by(pid, false))
			return true;
	}
	return false;
}

bool
terminal_has_screen(int fd)
{
	struct termios modes;

	return tcgetattr(fd, &modes) == 0 && (modes.c_lflag & ICANON) == 0;
}

void
terminal_reset_screen(const struct terminal *terminal)
{
	/* 1049h comes first, as 1049l alone moves the cursor of a normal
	 * screen. "[r" (all lines scroll) moves it, too: 7 saves the cursor, 8
	 * puts it back. Then: cursor, colours, mouse and focus, pasting,
	 * keyboard protocols. */
	static char text[] = "\033[?1049h\033[?1049l\0337\033[r\0338"
	                     "\033[?25h\033[m"
	                     "\033[?1000;1002;1003;1004;1005;1006;1015l"
	                     "\033[?2004l\033[=0u\033[>4m\033[?1l\033>";

	(void)fds_write(terminal->fd, text, strlen(text), PATIENCE_MS);
}

void
terminal_restore(const struct terminal *terminal, pid_t job, pid_t caller)
{
	const struct termios *const modes = &terminal->facts->modes;
	const bool had_screen =
	    (modes->c_lflag & ICANON) != 0 &&
	    (terminal->facts->had_screen || terminal_has_screen(terminal->fd));
	pid_t group = tcgetpgrp(terminal->fd);

	/* A supervisor, in another session, cannot ask. The shell takes the
	 * terminal when its job, the front, is dead: so its group counts. */
	if (group == -1)
		group = getpgid(caller);
	else if (group == 0 && !terminal_has_foreground(terminal->fd))
		return; /* it is another job outside of this PID namespace */
	/* A living group in the foreground, a shell's, has chosen its modes. A
	 * dead one may have been a job of a shell that was the command. */
	if (group != job &&
	    (group <= 1 || kill(-group, 0) == 0 || errno != ESRCH))
		return;
	if ((terminal_is_changed(terminal) || had_screen) &&
	    !terminal->facts->is_others &&
	    !other_may_have_set_modes(job, caller)) {
		/* As SIGTTOU is blocked: tty_check_change(). */
		(void)tcsetattr(terminal->fd, TCSANOW, modes);
		if (had_screen)
			terminal_reset_screen(terminal);
	}
	if (group != job)
		(void)tcsetpgrp(terminal->fd, job);
}

void
terminal_make_raw(struct terminal *terminal)
{
	struct terminal_facts *const facts = terminal->facts;
	struct termios raw;

	if (!terminal->is_keyboard || facts->is_over)
		return;
	terminal->in_foreground = terminal_has_foreground(terminal->fd);
	/* Another process may have changed the modes since. */
	if (!terminal->in_foreground || tcgetattr(terminal->fd, &raw) == -1 ||
	    (facts->is_raw && (raw.c_lflag & ISIG) == 0))
		return;
	facts->modes = raw;
	cfmakeraw(&raw);
	/* Other programs that write to this terminal need the output modes. */
	if (!terminal->shows_output)
		raw.c_oflag = facts->modes.c_oflag;
	/* Before tcsetattr(3): the supervisor ends the raw mode if the front is
	 * killed; and again after: it may just have done that. */
	facts->is_raw = true;
	(void)tcsetattr(terminal->fd, TCSANOW, &raw);
	facts->is_raw = true;
	(void)ioctl(terminal->fd, FIONREAD, &terminal->typed_ahead);
}

void
terminal_end_raw(const struct terminal *terminal, bool for_good)
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

/* The signal that a terminal of these modes makes of KEY, or 0. */
static int
signal_of_key(cc_t key, const struct termios *modes)
{
	return key == _POSIX_VDISABLE      ? 0
	       : key == modes->c_cc[VINTR] ? SIGINT
	       : key == modes->c_cc[VQUIT] ? SIGQUIT
	       : key == modes->c_cc[VSUSP] ? SIGTSTP
	                                   : 0;
}

void
terminal_read_keys(struct terminal *terminal, int master)
{
	static char text[512];
	const size_t size = sizeof(text) - 1;
	ssize_t length = read(terminal->fd, text, size);
	struct termios now;

	if (length == -1) { /* perhaps the terminal is another job's: EIO */
		terminal->in_foreground = terminal_has_foreground(terminal->fd);
		return;
	}
	/* The kernel has kept a Ctrl-D that was typed before the terminal was
	 * raw as a null byte: n_tty_receive_char_special(). */
	for (int i = 0; i < length && terminal->typed_ahead > 0; i++) {
		terminal->typed_ahead--;
		if (text[i] == '\0')
			text[i] = (char)terminal->facts->modes.c_cc[VEOF];
	}
	/* Another process has made the terminal canonical again ("stty sane"):
	 * then a read that ends before a newline has ended at a Ctrl-D. */
	if ((size_t)length < size &&
	    (length == 0 || text[length - 1] != '\n') &&
	    tcgetattr(terminal->fd, &now) == 0 && (now.c_lflag & ICANON) != 0)
		text[length++] = (char)now.c_cc[VEOF];
	terminal->keys = (struct part){ .text = text, .size = (size_t)length };
	if (length == 0 || tcgetattr(master, &now) == -1)
		return;

	const bool is_raw = (now.c_lflag & ISIG) == 0;
	const bool is_signal =
	    !is_raw && tcgetpgrp(master) == terminal->facts->group;

	terminal->passed_key =
	    is_raw ? signal_of_key((cc_t)text[length - 1], &now) : 0;
	/* The pseudo-terminal will make the command's signals. */
	for (int i = 0; i < length && is_signal; i++) {
		const int signal = signal_of_key((cc_t)text[i], &now);

		if (signal == SIGTSTP)
			terminal->facts->suspended_ms = duration_stamp();
		else if (signal != 0)
			(void)kill(0, signal);
	}
}
