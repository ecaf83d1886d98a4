/* Writes without waiting where O_NONBLOCK must not be set. */
#include "io/sink.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x8
#endif

#define PIPEFS           0x50495045 /* PIPEFS_MAGIC, statfs(2) */
#define CURRENT_POSITION (-1L)
#define TTY_PIECE        256

static bool
has_no_name(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == PIPEFS;
}

static bool
has_datagrams(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_DGRAM;
}

struct sink
sink_open(int fd)
{
	struct sink sink = { .fd = fd, .kind = SINK_FILE };
	struct stat file;

	if (fd == -1 || fstat(fd, &file) == -1)
		return sink;
	if (S_ISFIFO(file.st_mode))
		sink.kind = has_no_name(fd) ? SINK_PIPE : SINK_FIFO;
	else if (S_ISSOCK(file.st_mode))
		sink.kind = has_datagrams(fd) ? SINK_DATAGRAMS : SINK_SOCKET;
	else if (isatty(fd))
		sink.kind = SINK_TTY;
	sink.has_nowait = sink.kind == SINK_PIPE || sink.kind == SINK_FIFO;
	return sink;
}

static bool
is_about_nowait(int why)
{
	return why == EOPNOTSUPP || why == ENOSYS || why == EINVAL ||
	       why == ESPIPE || why == EPERM;
}

/* RWF_NOWAIT is for pipes since Linux 6.4. The position takes two arguments of
 * the system call, the second of which 64 bits do not use: pwritev2(2). */
static ssize_t
write_without_wait(int fd, const char *text, size_t size)
{
	struct iovec piece = { .iov_len = size };

	/* iov_base is not const, since readv(2) writes there. */
	memcpy(&piece.iov_base, &text, sizeof(text));
	return syscall(SYS_pwritev2, fd, &piece, 1L, CURRENT_POSITION,
	               CURRENT_POSITION, (long)RWF_NOWAIT);
}

/* After POLLOUT, a pipe takes PIPE_BUF bytes without blocking (pipe(7)); how
 * many bytes a terminal takes is unknown (n_tty_poll() in the kernel). A short
 * piece rarely blocks, and a signal interrupts a write(2) that does. */
static ssize_t
write_if_ready(const struct sink *sink, const char *text, size_t size)
{
	const size_t sure = sink->kind == SINK_TTY ? TTY_PIECE : PIPE_BUF;
	struct pollfd buffer = { .fd = sink->fd, .events = POLLOUT };

	if (poll(&buffer, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(sink->fd, text, size < sure ? size : sure);
}

ssize_t
sink_write(struct sink *sink, const char *text, size_t size)
{
	if (sink->kind == SINK_FILE)
		return write(sink->fd, text, size);
	if (sink->kind == SINK_SOCKET || sink->kind == SINK_DATAGRAMS)
		return send(sink->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sink->has_nowait) {
		const ssize_t written =
		    write_without_wait(sink->fd, text, size);

		if (written != -1 || !is_about_nowait(errno))
			return written;
		sink->has_nowait = false;
	}
	return write_if_ready(sink, text, size);
}
