/* Makes the pipes and pseudo-terminals of the command's output. */
#include "io/output.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "watchdog.h"

#define TEE_MODE  0666
#define PIPEFS    0x50495045 /* PIPEFS_MAGIC, statfs(2) */
#define PIPE_SIZE 65536      /* the usual one: pipe(7) */

static int
refuse(const char *what)
{
	message("%s: %s", what, strerror(errno));
	return -1;
}

static bool
is_same_file(int left, int right)
{
	struct stat a;
	struct stat b;

	return fstat(left, &a) == 0 && fstat(right, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Opens both ends of STREAM's pseudo-terminal, the command's as SLAVE_FD. */
static int
open_pty(struct stream *stream, int *slave_fd)
{
	const struct winsize size = { .ws_row = 24, .ws_col = 80 };
	const int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	struct termios modes;

	stream->in_fd = fd; /* the master: pts(4) */
	if (fd == -1 || unlockpt(fd) == -1 ||
	    ioctl(fd, TIOCSWINSZ, &size) == -1)
		return -1;
	/* Not ptsname(3), which may lead to another devpts: ioctl_tty(2). */
	*slave_fd = ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave_fd == -1)
		return -1;
	/* The modes are no model while another program reads keys: a shell, if
	 * we are in the background; or another wdrun of the same pipeline. */
	if ((tcgetpgrp(stream->model_fd) != getpgrp() ||
	     tcgetattr(stream->model_fd, &modes) == -1 ||
	     (modes.c_lflag & ISIG) == 0) &&
	    tcgetattr(*slave_fd, &modes) == -1)
		return -1;
	/* For a terminal, this one makes "\r\n" of "\n": the caller's does not
	 * while it is raw, for this or another run. */
	if (!stream->is_terminal)
		modes.c_oflag &= ~(tcflag_t)OPOST;
	return tcsetattr(*slave_fd, TCSANOW, &modes);
}

/* Makes the stream of FD. Returns 0, or -1 after a message. */
static int
open_stream(struct output *output, int fd)
{
	struct stream *const stream = &output->streams[output->count++];
	const bool is_pty = isatty(fd) || output->options->pty;
	struct statfs system;
	int ends[2];

	stream->is_stdout = fd == STDOUT_FILENO;
	stream->is_terminal = isatty(fd);
	stream->out_fd = fds_open_sink(fd);
	stream->text = malloc(2 * (UNTIL_MAX + CHUNK_SIZE) + 1);
	if (stream->text == NULL || stream->out_fd == -1)
		return refuse("cannot set up the output");

	/* Writes of lines may leave half of a pipe's pages empty: twice the
	 * size holds what fits bare, as the caller may read it at the end. */
	const int size = fcntl(stream->out_fd, F_GETPIPE_SZ); /* or -1 */

	if (size <= PIPE_SIZE)
		(void)fcntl(stream->out_fd, F_SETPIPE_SZ, 2 * size);
	stream->model_fd = stream->is_terminal         ? stream->out_fd
	                   : output->terminal.fd != -1 ? output->terminal.fd
	                                               : STDERR_FILENO;
	stream->has_messages = is_same_file(fd, STDERR_FILENO);
	/* With "--tee=log 2>>log", no line must be there twice. */
	stream->is_copied = !is_same_file(fd, output->tee_fd);
	/* A FIFO may get another reader; a pipe without a name may not. But a
	 * pseudo-terminal that hangs up would end a silent command. */
	stream->is_watched =
	    !is_pty && fstatfs(fd, &system) == 0 && system.f_type == PIPEFS;
	if (is_pty && open_pty(stream, &output->fds[fd]) == 0)
		return 0;
	if (output->options->pty)
		return refuse("cannot open a pseudo-terminal");
	/* A sandbox may have no pseudo-terminals: then a pipe has to do. */
	if (is_pty) {
		fds_close(stream->in_fd);
		output->has_pty = output->terminal.is_keyboard = false;
	}
	if (pipe2(ends, O_CLOEXEC) == -1 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) == -1)
		return refuse("cannot make a pipe");
	/* A Node program that ends by process.exit() loses what does not fit.
	 * Refused to a user with many such pipes: pipe(7). */
	if (stream->is_stdout)
		(void)fcntl(ends[0], F_SETPIPE_SZ, CHUNK_SIZE);
	stream->in_fd = ends[0];
	output->fds[fd] = ends[1];
	return 0;
}

/* Gives stdout and stderr a stream each, or one for both. */
static int
open_streams(struct output *output)
{
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		/* What was closed stays closed: what wdrun has opened there is
		 * close-on-exec; what came by execve(2) is not. */
		if (!output->options->pty && fcntl(fd, F_GETFD) != 0)
			continue;
		if (output->count == 1 &&
		    (output->options->pty || is_same_file(STDOUT_FILENO, fd)))
			output->fds[fd] = output->fds[STDOUT_FILENO];
		else if (open_stream(output, fd) == -1)
			return -1;
	}
	output_copy_size(output);
	/* A stdin that is no keyboard stays the caller's. */
	if (output->terminal.is_keyboard &&
	    terminal_is_controlling(STDIN_FILENO))
		output->fds[STDIN_FILENO] = output->fds[STDOUT_FILENO];
	return 0;
}

/* Whether somebody may type for the command. Stdin may say that nobody does:
 * "wdrun &" in a script has /dev/null, and a recipe of "make -j" an empty pipe
 * without a writer. But a pager, whose stdin is a pipe or file, reads keys. */
static bool
wants_keys(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	/* Keys of another session's terminal (su(1)) may be for others. */
	if (!terminal_is_controlling(STDIN_FILENO) &&
	    !terminal_is_controlling(STDOUT_FILENO))
		return false;
	if (terminal_types_nothing())
		return false;
	return !S_ISFIFO(fds_look_at(STDIN_FILENO, "").mode) ||
	       poll(&in, 1, 0) != 1 ||
	       (in.revents & (POLLIN | POLLHUP)) != POLLHUP;
}

int
output_setup(struct output *output, const struct options *options)
{
	struct terminal *const terminal = &output->terminal;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		output->fds[fd] = fd;
	output->options = options;
	terminal->facts = &output->facts->terminal;
	terminal->fd = output->tee_fd = -1;
	if (options->idle_timeout == NEVER && options->until == NULL &&
	    options->until_failure == NULL && options->tee == NULL &&
	    !options->pty)
		return 0;
	/* A pager or an editor needs a terminal, though we read its output. */
	output->has_pty =
	    options->pty || (!options->foreground && !options->setsid &&
	                     terminal_is_controlling(STDIN_FILENO) &&
	                     terminal_is_controlling(STDOUT_FILENO));
	if (options->tee != NULL) {
		/* O_NONBLOCK: a FIFO without a reader is an error (fifo(7)),
		 * and a stuck reader holds up the command, not the front. */
		output->tee_fd = open(options->tee,
		                      O_WRONLY | O_APPEND | O_CREAT |
		                          O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		                      TEE_MODE);
		if (output->tee_fd == -1) {
			message("--tee: cannot open '%s': %s%s", options->tee,
			        strerror(errno),
			        errno == ENXIO ? " (a FIFO needs a reader)"
			                       : "");
			return -1;
		}
	}
	terminal->shows_output = isatty(STDOUT_FILENO);
	if (output->has_pty && !options->no_stdin && wants_keys()) {
		/* O_NONBLOCK: another process may take what poll(2) tells. */
		terminal->fd =
		    open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC);
		if (terminal->fd == -1 && options->pty)
			return refuse("cannot open the terminal");
		terminal->is_keyboard = output->has_pty = terminal->fd != -1;
	}
	return open_streams(output);
}

int
output_connect(const struct output *output)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (output->fds[fd] != fd && dup2(output->fds[fd], fd) == -1)
			return -1;
	}
	output->facts->terminal.group = getpid();
	return output->has_pty ? tcsetpgrp(STDOUT_FILENO, getpid()) : 0;
}

void
output_copy_size(const struct output *output)
{
	struct winsize size;

	for (size_t i = 0; i < output->count; i++) {
		if (ioctl(output->streams[i].model_fd, TIOCGWINSZ, &size) == 0)
			(void)ioctl(output->streams[i].in_fd, TIOCSWINSZ,
			            &size);
	}
}

void
output_close_ends(const struct output *output, bool is_front)
{
	/* The supervisor keeps a slave: else a pseudo-terminal that nobody has
	 * open would end by EIO, before a daemon opens it again. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		const int end = output->fds[fd];

		if (end != fd && (is_front || !isatty(end)))
			(void)close(end); /* again, if two are the same */
	}
	if (is_front)
		return;
	fds_close(output->tee_fd);
	for (size_t i = 0; i < output->count; i++) {
		fds_close(output->streams[i].in_fd);
		fds_close(output->streams[i].out_fd);
	}
}
