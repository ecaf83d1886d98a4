/* Inherited descriptors, waits for them, and writes that are complete. */
#include "base/fds.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/duration.h"

#define CLOSED_MAX 10 /* in a row: wdrun's own, the lowest, are below */

int
fds_fill_standard(int flags)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open(2) returns the lowest number that is free. A write to a
		 * closed descriptor fails: so it does here. */
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null", O_RDONLY | flags) == -1)
			return -1;
	}
	return 0;
}

bool
fds_next_inherited(int *fd)
{
	/* Not by the list in /proc, which takes a fifth of a start. */
	for (int closed = 0; closed < CLOSED_MAX; *fd += 1) {
		const int flags = fcntl(*fd, F_GETFD);

		if (flags == 0)
			return true;
		closed = flags == -1 ? closed + 1 : 0;
	}
	return false;
}

void
fds_close_inherited(void)
{
	int fd = STDIN_FILENO;

	for (; fds_next_inherited(&fd); fd++) {
		if (fd != STDERR_FILENO)
			(void)close(fd);
	}
	(void)syscall(CALL_CLOSE_RANGE, fd, UINT_MAX, 0);
}

void
fds_leave_directory(void)
{
	if (chdir("/") == -1)
		return; /* no permission to search "/": the mount stays busy */
}

struct kernel_statx
fds_look_at(int fd, const char *path)
{
	struct kernel_statx file = { .mode = 0 };

	(void)syscall(SYS_statx, fd, path,
	              AT_EMPTY_PATH | KERNEL_STATX_DONT_SYNC, KERNEL_STATX_KIND,
	              &file);
	return file;
}

bool
fds_adds_returns(int fd)
{
	const tcflag_t adding = OPOST | ONLCR;
	struct termios modes;

	return tcgetattr(fd, &modes) == 0 && (modes.c_oflag & adding) == adding;
}

void
fds_close(int fd)
{
	const int why = errno;

	if (fd != -1)
		(void)close(fd);
	errno = why;
}

int
fds_poll(struct pollfd *fds, size_t count, int64_t wait, const uint64_t *mask)
{
	const struct kernel_signals set = { .mask = mask == NULL ? 0 : *mask };
	const int64_t time = wait > 0 ? wait : 0;
	struct kernel_time left = { time / SECOND, time % SECOND };

	/* libc's ppoll(3) takes a sigset_t: see signals.h. */
	return (int)syscall(CALL_PPOLL, fds, count, &left,
	                    mask == NULL ? NULL : &set, KERNEL_SIGNALS_SIZE);
}

int
fds_open_sink(int fd)
{
	const int mode = fcntl(fd, F_GETFL) & O_ACCMODE; /* O_RDWR: "1<>fifo" */
	struct stat file = { .st_mode = 0 };
	char path[32];
	int sink = -1;

	(void)fstat(fd, &file);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (S_ISFIFO(file.st_mode) || isatty(fd))
		sink = open(path, mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return sink == -1 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : sink;
}

#define SOCKET_BUF ((size_t)32 * 1024) /* unix_stream_sendmsg(), net/unix */
/* A terminal that poll(2) calls writable may have room for so many bytes only,
 * each with a "\r": tty_buffer_alloc(), drivers/tty/tty_buffer.c. */
#define TERMINAL_BUF ((size_t)128)

/* How a descriptor takes bytes without a wait. */
enum sink {
	SINK_PLAIN,    /* by write(2): a file, or O_NONBLOCK is set */
	SINK_LINES,    /* the same, for a pipe: lines that nobody tears */
	SINK_SOCKET,   /* by sendmsg(2) */
	SINK_PIPE,     /* after poll(2), PIPE_BUF bytes */
	SINK_TERMINAL, /* after poll(2), TERMINAL_BUF bytes, or a "\n" */
};

static enum sink
sink_of(int fd)
{
	struct stat file = { .st_mode = 0 };

	(void)fstat(fd, &file);
	if (S_ISSOCK(file.st_mode))
		return SINK_SOCKET;
	if ((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0)
		return S_ISFIFO(file.st_mode) ? SINK_LINES : SINK_PLAIN;
	return S_ISFIFO(file.st_mode) ? SINK_PIPE
	       : isatty(fd)           ? SINK_TERMINAL
	                              : SINK_PLAIN;
}

/* How many bytes of PART one write takes: whole lines, which a pipe (PIPE_BUF
 * bytes, pipe(7)) or a Unix socket takes as a whole or not at all, so that no
 * other writer gets into them; or one longer line, or its beginning. */
static size_t
next_size(enum sink sink, struct part *part)
{
	const char *const text = part->text + part->written;
	const size_t left = part->size - part->written;
	const size_t most = sink == SINK_SOCKET     ? SOCKET_BUF
	                    : sink == SINK_TERMINAL ? TERMINAL_BUF
	                                            : PIPE_BUF;
	const size_t size = left < most ? left : most;
	const char *end;

	if (sink == SINK_PLAIN)
		return left;
	/* After text that took the last room, a "\n" or tab would wait for room
	 * of its own: do_output_char(), drivers/tty/n_tty.c. */
	if (sink == SINK_TERMINAL) {
		for (end = text;
		     end < text + size && (unsigned char)*end >= ' ';)
			end++;
		return end > text ? (size_t)(end - text) : 1;
	}
	end = memrchr(text, '\n', size);
	if (end != NULL)
		return (size_t)(end - text) + 1;
	/* A pipe that poll(2) calls writable takes PIPE_BUF bytes at once,
	 * unless another process fills it first. */
	if (sink == SINK_PIPE)
		return size;
	if (part->line_end <= part->written) {
		end = memchr(text + size, '\n', left - size);
		part->line_end =
		    end == NULL ? part->size : (size_t)(end - part->text) + 1;
	}
	return part->line_end - part->written;
}

int
fds_write_part(int fd, struct part *part)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	const enum sink sink =
	    part->written < part->size ? sink_of(fd) : SINK_PLAIN;

	while (part->written < part->size) {
		/* Not send(2): the sandbox of codex refuses sendto(2). */
		struct iovec text = { part->text + part->written,
			              next_size(sink, part) };
		const struct msghdr packet = { .msg_iov = &text,
			                       .msg_iovlen = 1 };

		/* O_NONBLOCK would affect all who share FD's description. */
		if (sink >= SINK_PIPE && poll(&room, 1, 0) == 0)
			return 0;
		errno = EIO; /* for a write of nothing */

		const ssize_t length =
		    sink == SINK_SOCKET
		        ? sendmsg(fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL)
		        : write(fd, text.iov_base, text.iov_len);

		if (length > 0)
			part->written += (size_t)length;
		else if (errno != EINTR)
			return errno == EAGAIN ? 0 : errno;
	}
	return 0;
}

bool
fds_write(int fd, char *data, size_t size, int patience_ms)
{
	struct part part = { .text = data, .size = size };
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	int why;

	while ((why = fds_write_part(fd, &part)) == 0 && part.written < size &&
	       poll(&room, 1, patience_ms) != 0)
		;
	errno = why == 0 ? ETIMEDOUT : why;
	return part.written == size;
}
