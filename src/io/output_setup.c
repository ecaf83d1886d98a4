/* Opens what the relays of the command's output need. */
#include "io/output_setup.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/path.h"
#include "io/output.h"
#include "io/pty.h"
#include "io/tty.h"

#define FIRST_OTHER 3
#define TEE_MODE    0666

static int
refuse(const char *what)
{
	message("%s: %s", what, strerror(errno));
	return -1;
}

/* Whether FD was open for writing when wdrun was started; if not, the command
 * gets FD as it is. The /dev/null of fds_open_null() is close-on-exec; what
 * came through execve(2) is not. True if a seccomp filter forbids fcntl(2):
 * otherwise the output would be lost. */
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
is_same_file(int left, int right)
{
	struct stat a;
	struct stat b;

	return fstat(left, &a) == 0 && fstat(right, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool
is_regular(int fd)
{
	struct stat file;

	return fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

/* Opens the file of --tee with O_NONBLOCK: a FIFO without a reader fails
 * instead of waiting (fifo(7)), and a relay notices that a reader is stuck.
 * Returns the descriptor, or -1 after a message. */
static int
open_tee(const char *path)
{
	const int fd = path_open_file(
	    path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY,
	    TEE_MODE);
	const int why = errno;
	struct stat file;

	if (fd == -1)
		message("--tee: cannot open '%s': %s", path,
		        why == ENXIO && stat(path, &file) == 0 &&
		                S_ISFIFO(file.st_mode)
		            ? "it is a FIFO that nobody reads"
		            : path_error(why));
	return fd;
}

/* Decides whether stdout and stderr have a relay each, or share a relay. */
static void
plan(struct output *output)
{
	const bool is_pty = output->config.pty;
	struct channel *const first = &output->channels[0];
	const bool has_stdout = is_writable(STDOUT_FILENO);
	const bool has_stderr = is_writable(STDERR_FILENO);

	first->is_stdout = has_stdout || is_pty;
	first->is_stderr =
	    is_pty ||
	    (has_stderr &&
	     (!has_stdout || is_same_file(STDOUT_FILENO, STDERR_FILENO)));
	output->channel_count = first->is_stdout || first->is_stderr;
	if (has_stderr && !first->is_stderr) {
		output->channels[1].is_stderr = true;
		output->channel_count = 2;
	}
}

/* Opens the parent's terminal, for its window size, and prepares tty_input if
 * the command gets a pseudo-terminal. Returns 0, or -1 after a message. */
static int
open_terminal(struct output *output)
{
	struct tty_input *const input = &output->tty_input;

	output->size_fd = -1;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (!isatty(fd))
			continue;
		output->size_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OTHER);
		if (output->size_fd == -1)
			return refuse("cannot set up the terminal");
		break;
	}
	if (!output->has_pty || output->config.no_stdin)
		return 0;
	input->is_stdin = isatty(STDIN_FILENO);
	/* A pager at the end of a pipeline reads keys from /dev/tty. A new file
	 * description, for O_NONBLOCK: another process may take the key that
	 * poll(2) has reported, and read(2) must not wait. */
	input->terminal_fd =
	    tty_is_controlling(input->is_stdin ? STDIN_FILENO : STDOUT_FILENO)
	        ? open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC)
	        : -1;
	if (input->terminal_fd == -1 && input->is_stdin)
		input->terminal_fd = output->size_fd; /* a copy of stdin */
	input->is_used = input->terminal_fd != -1;
	if (!input->is_used)
		return 0;
	return tty_input_setup(input) == -1
	           ? refuse("cannot set up the terminal")
	           : 0;
}

/* Makes what the relays share. */
static int
open_shared(struct output *output, struct relay *relay)
{
	output->page = mmap(NULL, sizeof(*output->page), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* Not in .bss: only the relays use the buffer. */
	relay->buffer =
	    mmap(NULL, (size_t)2 * RELAY_BUFFER_SIZE, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (output->page == MAP_FAILED || relay->buffer == MAP_FAILED)
		return refuse("no memory for the output");
	if (pipe2(output->notify_pipe, O_CLOEXEC | O_NONBLOCK) == -1)
		return refuse("cannot make a pipe");
	relay->page = output->page;
	relay->notify_fd = output->notify_pipe[1];
	return 0;
}

static int
open_pty(struct output *output, struct channel *channel)
{
	struct relay *const relay = &channel->relay;
	const int size_fd = output->size_fd;
	const bool leads_back =
	    output->tty_input.is_used && channel->is_on_terminal;
	/* In the background, the terminal may have the modes of a shell that
	 * reads a command line. */
	const bool has_model = size_fd != -1 && tcgetpgrp(size_fd) == getpgrp();

	if (pty_open(&relay->in_fd, &relay->slave_fd) == -1)
		return refuse("cannot open a pseudo-terminal");
	/* leads_back: the parent's raw terminal makes no "\r\n" of "\n". */
	if (pty_copy_modes(relay->slave_fd, has_model ? size_fd : -1,
	                   leads_back) == -1)
		return refuse("cannot set up a pseudo-terminal");
	if (leads_back)
		relay->tty_input = &output->tty_input;
	(void)pty_copy_size(relay->slave_fd, size_fd);
	relay->size_fd = size_fd;
	channel->command_fd = relay->slave_fd;
	return 0;
}

static int
open_channel(struct output *output, struct channel *channel)
{
	struct relay *const relay = &channel->relay;
	const int fd = channel->is_stdout ? STDOUT_FILENO : STDERR_FILENO;
	int pipe_fds[2];

	relay->out_name = channel->is_stdout ? "stdout" : "stderr";
	relay->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (relay->wake_fd == -1)
		return refuse("cannot make an eventfd");
	if (is_writable(fd)) {
		relay->out.fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OTHER);
		if (relay->out.fd == -1)
			return refuse("cannot set up the output");
		/* With "--tee=log 2>>log", no line must be there twice. */
		if (relay->tee_fd != -1 && is_regular(fd) &&
		    is_same_file(fd, relay->tee_fd))
			relay->tee_fd = -1;
	}
	channel->is_on_terminal = isatty(fd);
	if (channel->is_on_terminal ||
	    (output->has_pty && channel == &output->channels[0]))
		return open_pty(output, channel);
	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return refuse("cannot make a pipe");
	relay->in_fd = pipe_fds[0];
	channel->command_fd = pipe_fds[1];
	return 0;
}

int
output_setup(struct output *output)
{
	const struct output_config *const config = &output->config;
	struct relay relay = {
		.slave_fd = -1,
		.out = { .fd = -1 },
		.tee_fd = -1,
		.size_fd = -1,
		.tee_name = config->tee,
		.search = { .text = config->until },
	};

	if (!config->is_timed && config->until == NULL && config->tee == NULL &&
	    !config->pty)
		return 0;
	/* If stdin and stdout are the controlling terminal, a pager or an
	 * editor needs a terminal, although its output is read. */
	output->has_pty = config->pty ||
	                  (!config->stays && tty_is_controlling(STDIN_FILENO) &&
	                   tty_is_controlling(STDOUT_FILENO));
	plan(output);
	if (output->channel_count == 0) {
		message("neither stdout nor stderr is open for writing: there "
		        "is no output to be seen");
		return -1;
	}
	if (config->until != NULL)
		relay.search.length = strlen(config->until);
	if (config->tee != NULL) {
		relay.tee_fd = open_tee(config->tee);
		if (relay.tee_fd == -1)
			return -1;
	}
	if (open_shared(output, &relay) == -1 || open_terminal(output) == -1)
		return -1;
	for (size_t i = 0; i < output->channel_count; i++) {
		output->channels[i].relay = relay;
		output->channels[i].relay.state = &output->page->states[i];
		if (open_channel(output, &output->channels[i]) == -1)
			return -1;
	}
	output->tty_input.master_fd = output->channels[0].relay.in_fd;
	output->tty_input.slave_fd = output->channels[0].relay.slave_fd;
	output->tty_input.shows_output = output->channels[0].is_on_terminal;
	output->is_open = true;
	return 0;
}
