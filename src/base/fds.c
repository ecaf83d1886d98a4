/* Inherited descriptors, waits for them, and writes that are complete. */
#include "base/fds.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/kernel.h"

#define FIRST_OTHER 3

int
fds_fill_standard(int flags)
{
	for (int fd = STDIN_FILENO; fd < FIRST_OTHER; fd++) {
		/* open(2) returns the lowest number that is free. */
		if (fcntl(fd, F_GETFD) == -1 &&
		    open("/dev/null", O_RDWR | flags) == -1)
			return -1;
	}
	return 0;
}

void
fds_release(const int keep[], size_t count)
{
	unsigned first = 0;

	for (unsigned kept = 0; kept != UINT_MAX; first = kept + 1) {
		/* The lowest from FIRST on, or none. */
		kept = first <= STDERR_FILENO ? STDERR_FILENO : UINT_MAX;
		for (size_t i = 0; i < count; i++) {
			if (keep[i] >= (int)first && (unsigned)keep[i] < kept)
				kept = (unsigned)keep[i];
		}
		if (first < kept)
			(void)syscall(CALL_CLOSE_RANGE, first, kept - 1, 0);
	}
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

int
fds_poll(struct pollfd *fds, size_t count, int64_t wait, const uint64_t *mask)
{
	const struct kernel_signals set = { .mask = mask == NULL ? 0 : *mask };
	struct kernel_time left = duration_to_kernel(wait);

	/* libc's ppoll(3) takes a sigset_t: see signals.h. */
	return (int)syscall(CALL_PPOLL, fds, count, &left,
	                    mask == NULL ? NULL : &set, KERNEL_SIGNALS_SIZE);
}

int
fds_write_part(int fd, struct part *part, bool may_block)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (part->written < part->size) {
		if (may_block && poll(&room, 1, 0) == 0)
			return EAGAIN;

		const size_t left = part->size - part->written;
		/* O_NONBLOCK would affect all who share FD's description. But
		 * a pipe that poll(2) calls writable takes PIPE_BUF bytes at
		 * once, unless another process fills it first: pipe(7). */
		const size_t size =
		    may_block && left > PIPE_BUF ? PIPE_BUF : left;
		const ssize_t length =
		    write(fd, part->text + part->written, size);

		if (length > 0)
			part->written += (size_t)length;
		else if (length == 0 || errno != EINTR)
			return length == 0 ? EIO : errno;
	}
	return 0;
}

bool
fds_write(int fd, char *data, size_t size, int patience_ms)
{
	struct part part = { data, size, 0 };
	struct pollfd room = { .fd = fd, .events = POLLOUT };
	struct stat file;
	const bool is_file = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
	int why;

	while ((why = fds_write_part(fd, &part, !is_file)) == EAGAIN &&
	       poll(&room, 1, patience_ms) != 0)
		;
	errno = why == EAGAIN ? ETIMEDOUT : why;
	return why == 0;
}
