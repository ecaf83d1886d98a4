/* Inherited descriptors, and reads and writes that are complete. */
#include "base/fds.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/names.h"
#include "base/strbuf.h"
#include "base/text.h"

#define PATH_SIZE   32
#define FIRST_OTHER 3
#define TRIED_MAX   (1 << 20)   /* calls of close(2): 0.1 s */
#define PAUSE       MILLISECOND /* between two tries to write */

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

struct range {
	unsigned first;
	unsigned last;
	int list_fd;
};

static int
close_name(const char *name, void *context)
{
	const struct range *const range = context;
	const uint64_t fd = text_number(name, DECIMAL);

	if (fd >= range->first && fd <= range->last &&
	    (int)fd != range->list_fd)
		(void)close((int)fd);
	return 0;
}

/* Replaces close_range(2) before Linux 5.9, or where a filter forbids it. */
static void
close_one_by_one(unsigned first, unsigned last)
{
	struct rlimit limit = { .rlim_cur = FIRST_OTHER };
	struct range range = {
		first,
		last,
		open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};

	if (range.list_fd != -1) {
		(void)names_read(range.list_fd, close_name, &range);
		(void)close(range.list_fd);
		return;
	}

	/* Not the soft limit: descriptors may have been opened before the soft
	 * limit was lowered. The hard limit may be 1,000,000,000. */
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max > TRIED_MAX)
		limit.rlim_max = TRIED_MAX;
	for (rlim_t fd = first; fd <= last && fd < limit.rlim_max; fd++)
		(void)close((int)fd);
}

static void
close_from_to(unsigned first, unsigned last)
{
	if (first <= last && syscall(SYS_close_range, first, last, 0) == -1)
		close_one_by_one(first, last);
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
		close_from_to(first, next - 1);
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

/* Writes without blocking when a pipe or terminal is full. O_NONBLOCK on FD
 * would affect every process that shares the file description: so opens
 * /proc/self/fd/FD, which makes a new file description (proc(5)). */
static ssize_t
write_reopened(int fd, const char *data, size_t size)
{
	char path[PATH_SIZE];

	(void)strbuf_format(path, sizeof(path), "/proc/self/fd/%d", fd);

	const int own_fd =
	    open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (own_fd == -1) /* no /proc, or no permission: may block */
		return write(fd, data, size);

	const ssize_t written = write(own_fd, data, size);

	fds_close(own_fd);
	return written;
}

static ssize_t
write_some(int fd, const char *data, size_t size, int patience_ms)
{
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	struct stat file;

	if (fstat(fd, &file) == -1)
		return -1;

	const bool is_socket = S_ISSOCK(file.st_mode);

	if (!is_socket && !S_ISFIFO(file.st_mode) && !S_ISCHR(file.st_mode))
		return write(fd, data, size);
	if (poll(&ready, 1, patience_ms) <= 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	return is_socket ? send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL)
	                 : write_reopened(fd, data, size);
}

size_t
fds_write_in_time(int fd, const void *data, size_t size, int patience_ms)
{
	const char *const bytes = data;
	const int64_t patience = patience_ms * MILLISECOND;
	int64_t end = duration_now() + patience;
	size_t done = 0;

	while (done < size) {
		const ssize_t length =
		    write_some(fd, bytes + done, size - done, patience_ms);

		if (length > 0) {
			done += (size_t)length;
			end = duration_now() + patience;
			continue;
		}
		/* Another process has filled the pipe since poll(2), or is
		 * writing to the terminal (tty_write_lock() in the kernel). */
		if (length == 0 || errno != EAGAIN)
			break;
		if (duration_now() >= end) {
			errno = ETIMEDOUT;
			break;
		}
		duration_sleep(PAUSE);
	}
	return done;
}
