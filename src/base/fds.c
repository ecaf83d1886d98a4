/* Inherited descriptors, and writes that are complete. */
#include "base/fds.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#define FIRST_OTHER 3

int
fds_open_null(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd < FIRST_OTHER);
	return fd;
}

static void
close_all_but(const int keep[], size_t count)
{
	unsigned first = FIRST_OTHER;

	for (unsigned next = 0; next != UINT_MAX; first = next + 1) {
		next = UINT_MAX; /* the lowest descriptor to keep, or none */
		for (size_t i = 0; i < count; i++) {
			if (keep[i] >= (int)first && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		}
		if (first < next)
			(void)syscall(SYS_close_range, first, next - 1, 0);
	}
}

void
fds_release(int null_fd, const int keep[], size_t count)
{
	(void)dup2(null_fd, STDIN_FILENO);
	(void)dup2(null_fd, STDOUT_FILENO);
	close_all_but(keep, count);
	if (chdir("/") == -1)
		return; /* no permission to search "/": the mount stays busy */
}

void
fds_close(int fd)
{
	const int why = errno;

	if (fd != -1)
		(void)close(fd);
	errno = why;
}

/* O_NONBLOCK on FD would affect each process that shares its description. But a
 * pipe that poll(2) calls writable takes PIPE_BUF bytes at once, unless another
 * process fills it first: pipe(7). */
bool
fds_write(int fd, const void *data, size_t size, int patience_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct stat file;
	const bool is_file = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
	const size_t at_once = is_file ? size : PIPE_BUF;
	size_t done = 0;

	while (done < size) {
		const size_t left = size - done;
		const int result = poll(&ready, 1, patience_ms);
		ssize_t length = -1;

		if (result == 0)
			errno = ETIMEDOUT;
		else if (result == 1)
			length = write(fd, (const char *)data + done,
			               left < at_once ? left : at_once);
		if (length > 0)
			done += (size_t)length;
		else if (length == 0 || (errno != EAGAIN && errno != EINTR))
			return false;
	}
	return true;
}
