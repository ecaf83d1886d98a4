/* Writing without a wait to what is not ours to make non-blocking. */
#include "outlet.h"

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

#define PIPEFS      0x50495045 /* PIPEFS_MAGIC, statfs(2) */
#define CURRENT     (-1L)      /* position */
#define NO_WAIT     0x8        /* RWF_NOWAIT */
#define SURE_OF_TTY 256

static bool
has_no_name(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == PIPEFS;
}

struct outlet
outlet_on(int fd)
{
	struct outlet outlet = { .fd = fd, .kind = OUTLET_FILE };
	struct stat file;

	if (fd == -1 || fstat(fd, &file) == -1)
		return outlet;
	if (S_ISFIFO(file.st_mode))
		outlet.kind = has_no_name(fd) ? OUTLET_PIPE : OUTLET_FIFO;
	else if (S_ISSOCK(file.st_mode))
		outlet.kind = OUTLET_SOCKET;
	else if (isatty(fd))
		outlet.kind = OUTLET_TERMINAL;
	return outlet;
}

bool
outlet_has_one_reader(const struct outlet *outlet)
{
	return outlet->kind == OUTLET_PIPE || outlet->kind == OUTLET_SOCKET;
}

static bool
is_about_nowait(int why)
{
	return why == EOPNOTSUPP || why == ENOSYS || why == EINVAL ||
	       why == ESPIPE || why == EPERM;
}

/* Pipes know it since Linux 6.4, terminals do not. The position is two
 * arguments, of which 64 bits have no use for the second: pwritev2(2). */
static ssize_t
write_without_wait(int fd, const char *text, size_t size)
{
	struct iovec piece = { .iov_len = size };

	/* It has no const, as readv(2) uses it as well. */
	memcpy(&piece.iov_base, &text, sizeof(text));
	return syscall(SYS_pwritev2, fd, &piece, 1L, CURRENT, CURRENT,
	               (long)NO_WAIT);
}

/* When poll(2) says that there is room, this much is taken at once: by a pipe
 * (pipe(7), PIPE_BUF), or for a terminal's line. */
static ssize_t
write_if_ready(const struct outlet *outlet, const char *text, size_t size)
{
	const size_t sure =
	    outlet->kind == OUTLET_TERMINAL ? SURE_OF_TTY : PIPE_BUF;
	struct pollfd room = { .fd = outlet->fd, .events = POLLOUT };

	if (poll(&room, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(outlet->fd, text, size < sure ? size : sure);
}

ssize_t
outlet_write(struct outlet *outlet, const char *text, size_t size)
{
	if (outlet->kind == OUTLET_FILE)
		return write(outlet->fd, text, size);
	if (outlet->kind == OUTLET_SOCKET)
		return send(outlet->fd, text, size,
		            MSG_DONTWAIT | MSG_NOSIGNAL);
	if (outlet->kind != OUTLET_TERMINAL && !outlet->lacks_nowait) {
		const ssize_t written =
		    write_without_wait(outlet->fd, text, size);

		if (written != -1 || !is_about_nowait(errno))
			return written;
		outlet->lacks_nowait = true;
	}
	return write_if_ready(outlet, text, size);
}

void
outlet_await(const struct outlet *outlet)
{
	struct pollfd room = { .fd = outlet->fd, .events = POLLOUT };

	(void)poll(&room, 1, -1);
}
