/* What has to be opened for the command's output to be seen. */
#include "plumbing.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "fileinfo.h"
#include "keyboard.h"
#include "message.h"
#include "pty.h"
#include "relay.h"

#define FIRST_OTHER 3
#define TEE_MODE    0666

/* One mapping for both kinds of helper. */
struct shared {
	struct relay_page relays;
	struct keyboard_page keyboard;
};

bool
plumbing_is_needed(const struct run *run)
{
	const struct options *const options = &run->options;

	return options->idle_timeout != NEVER || options->until != NULL ||
	       options->tee != NULL || options->pty;
}

static int
refuse(const char *what)
{
	message("%s: %s", what, strerror(errno));
	return -1;
}

/*
 * Whether FD is the caller's, and open for writing. What is not, the command
 * finds as it is. What an exec has passed on is not close-on-exec; so one that
 * is, is the /dev/null of descriptors_open_null(). Where a filter forbids the
 * question it is taken for one that is, or its output would go nowhere.
 */
static bool
is_writable(int fd)
{
	const int flags = fcntl(fd, F_GETFD);

	if (flags == -1 ? errno == EBADF : flags != 0)
		return false;

	const int mode = fcntl(fd, F_GETFL);

	return mode == -1 || (mode & O_ACCMODE) != O_RDONLY;
}

static bool
is_same_file(int left, int right, bool (*is_type)(mode_t))
{
	struct fileinfo a;
	struct fileinfo b;

	return fileinfo_guess(left, &a) == 0 &&
	       fileinfo_guess(right, &b) == 0 && a.device == b.device &&
	       a.inode == b.inode && is_type(a.mode);
}

static bool
is_any(mode_t mode)
{
	(void)mode;
	return true;
}

static bool
is_regular(mode_t mode)
{
	return S_ISREG(mode);
}

/* Any but a device is not even asked: it might be on a file system that
 * hangs. */
static bool
is_terminal(int fd)
{
	struct fileinfo file;

	return fileinfo_guess(fd, &file) == 0 && S_ISCHR(file.mode) &&
	       isatty(fd);
}

static int
open_memory(struct output *output)
{
	struct shared *const shared =
	    mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return refuse("no memory for the output");
	output->page = &shared->relays;
	output->keyboard_page = &shared->keyboard;
	/* Not in .bss: only a relay touches it. */
	output->room = mmap(NULL, RELAY_ROOM, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return output->room == MAP_FAILED ? refuse("no memory for the output")
	                                  : 0;
}

/*
 * Not blocking, so that a FIFO without a reader is an error and not a wait, and
 * one with a stuck reader is noticed. For a regular file it makes no
 * difference.
 */
static int
open_tee(struct run *run)
{
	const char *const path = run->options.tee;
	int *const fd = &run->output.tee_fd;

	*fd = open(path,
	           O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY |
	               O_CLOEXEC,
	           TEE_MODE);
	if (*fd == -1) {
		const int why = errno;
		struct stat file;
		const bool is_fifo = why == ENXIO && stat(path, &file) == 0 &&
		                     S_ISFIFO(file.st_mode);

		message("--tee: cannot open '%s': %s", path,
		        is_fifo ? "nobody reads it" : strerror(why));
		return -1;
	}
	if (is_same_file(*fd, STDOUT_FILENO, is_regular) ||
	    is_same_file(*fd, STDERR_FILENO, is_regular)) {
		message("--tee: '%s' is where the output goes already", path);
		return -1;
	}
	return 0;
}

/* Which of the caller's descriptors go through a relay, and which share one. */
static void
plan(struct run *run)
{
	struct output *const output = &run->output;
	struct channel *const first = &output->channels[0];
	const bool has_stdout = is_writable(STDOUT_FILENO);
	const bool has_stderr = is_writable(STDERR_FILENO);

	for (size_t i = 0; i < OUTPUT_CHANNELS; i++)
		output->channels[i] = (struct channel){
			.in_fd = -1,
			.command_fd = -1,
			.out_fd = -1,
			.orders_fd = -1,
		};
	first->is_stdout = has_stdout || run->options.pty;
	first->is_stderr =
	    run->options.pty ||
	    (has_stderr &&
	     (!has_stdout ||
	      is_same_file(STDOUT_FILENO, STDERR_FILENO, is_any)));
	output->channel_count = first->is_stdout || first->is_stderr;
	if (has_stderr && !first->is_stderr) {
		output->channels[1].is_stderr = true;
		output->channel_count = 2;
	}
}

static int
open_pty(struct run *run, struct channel *channel)
{
	struct output *const output = &run->output;
	/* In the background it may be a shell's at this moment. */
	const bool has_model =
	    output->size_fd != -1 && tcgetpgrp(output->size_fd) == getpgrp();

	if (pty_open(&channel->in_fd, &channel->command_fd) == -1)
		return refuse("cannot open a pseudo-terminal");
	channel->is_pty = true;
	/* The caller's terminal does what a terminal does with output, unless
	 * it is raw. */
	if (pty_imitate(channel->command_fd, has_model ? output->size_fd : -1,
	                output->has_keyboard && channel->is_screen) == -1)
		return refuse("cannot set up a pseudo-terminal");
	(void)pty_follow_size(channel->command_fd, output->size_fd);
	return 0;
}

static int
open_channel(struct run *run, struct channel *channel)
{
	const int fd = channel->is_stdout ? STDOUT_FILENO : STDERR_FILENO;
	int pipe_fds[2];

	channel->orders_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (channel->orders_fd == -1)
		return refuse("cannot make an eventfd");
	if (is_writable(fd)) {
		channel->out_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OTHER);
		if (channel->out_fd == -1)
			return refuse("cannot keep the output");
	}
	channel->is_screen = is_terminal(fd);
	if (run->options.pty || channel->is_screen)
		return open_pty(run, channel);
	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return refuse("cannot make a pipe");
	channel->in_fd = pipe_fds[0];
	channel->command_fd = pipe_fds[1];
	return 0;
}

static int
open_terminal(struct run *run)
{
	struct output *const output = &run->output;

	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--) {
		if (!is_terminal(fd))
			continue;
		if (output->size_fd != -1)
			(void)close(output->size_fd);
		output->size_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OTHER);
		if (output->size_fd == -1)
			return refuse("cannot keep the terminal");
	}
	output->has_keyboard = run->options.pty && !run->options.no_stdin &&
	                       is_terminal(STDIN_FILENO);
	if (!output->has_keyboard)
		return 0;
	/* stdin is the last one that was looked at. */
	output->keyboard_fd = output->size_fd;
	output->keyboard_orders_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (output->keyboard_orders_fd == -1)
		return refuse("cannot make an eventfd");
	return 0;
}

int
plumbing_lay(struct run *run)
{
	struct output *const output = &run->output;

	plan(run);
	if (output->channel_count == 0) {
		message("stdout and stderr are closed: there is no output to "
		        "be seen");
		return -1;
	}
	if (run->options.tee != NULL && open_tee(run) == -1)
		return -1;
	if (open_memory(output) == -1 || open_terminal(run) == -1)
		return -1;
	if (pipe2(output->news, O_CLOEXEC | O_NONBLOCK) == -1 ||
	    (output->tee_fd != -1 &&
	     pipe2(output->copy, O_CLOEXEC | O_NONBLOCK) == -1))
		return refuse("cannot make a pipe");
	for (size_t i = 0; i < output->channel_count; i++) {
		if (open_channel(run, &output->channels[i]) == -1)
			return -1;
	}
	output->is_open = true;
	return 0;
}
