/* Inherited descriptors, and reads and writes that are complete. */
#include "base/fds.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define FIRST_OTHER 3

#ifndef SYS_close_range
#define SYS_close_range 436 /* on every architecture but alpha */
#endif

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

ssize_t
fds_read(int fd, void *data, size_t size)
{
	size_t done = 0;
	ssize_t length = 1;

	while (done < size && length != 0) {
		length = read(fd, (char *)data + done, size - done);
		if (length > 0)
			done += (size_t)length;
		else if (length == -1 && errno != EINTR)
			return -1;
	}
	return (ssize_t)done;
}

size_t
fds_write(int fd, const void *data, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t length =
		    write(fd, (const char *)data + done, size - done);

		if (length > 0)
			done += (size_t)length;
		else if (length == -1 && errno != EINTR)
			break;
	}
	return done;
}

/* O_NONBLOCK on FD would affect each process that shares its description. But a
 * pipe that poll(2) calls writable takes PIPE_BUF bytes at once, unless another
 * process fills it first: pipe(7). */
size_t
fds_write_in_time(int fd, const void *data, size_t size, int patience_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	size_t done = 0;
	struct stat file;

	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))
		return fds_write(fd, data, size);
	while (done < size) {
		const size_t left = size - done;

		if (poll(&ready, 1, patience_ms) <= 0) {
			errno = ETIMEDOUT;
			break;
		}

		const ssize_t length = write(fd, (const char *)data + done,
		                             left < PIPE_BUF ? left : PIPE_BUF);

		if (length > 0)
			done += (size_t)length;
		else if (length == 0 || errno != EAGAIN)
			break;
	}
	return done;
}

int
fds_replace(const struct replacement *file, const void *data, size_t size)
{
	const int directory_fd = file->directory_fd;

	(void)unlinkat(directory_fd, file->unfinished, 0);

	const int fd = openat(
	    directory_fd, file->unfinished,
	    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, file->mode);

	if (fd == -1)
		return -1;

	/* No fsync(2): a crash of the machine that loses the file also ends
	 * every process that the file describes. */
	bool is_written = (!file->is_exact || fchmod(fd, file->mode) == 0) &&
	                  fds_write(fd, data, size) == size;

	/* NFS may report a full disk only here: ENOSPC in close(2). */
	if (is_written)
		is_written = close(fd) == 0;
	else
		fds_close(fd);
	if (is_written && renameat(directory_fd, file->unfinished, directory_fd,
	                           file->file) == 0)
		return 0;

	const int why = errno;

	(void)unlinkat(directory_fd, file->unfinished, 0);
	errno = why;
	return -1;
}
