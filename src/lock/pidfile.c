/* PID files: whose they are, and whether their owner lives. */
#include "lock/pidfile.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/procstat.h"

#define BASE      10
#define TEXT_SIZE 64 /* a PID and blanks; a longer file holds no PID */
#define BLANKS    " \t\n\v\f\r"
#define PID_LAST                                                               \
	4194304 /* PID_MAX_LIMIT of the kernel: a larger number may be         \
	         * a time */

/* How long before a process's start its PID may have been written, by the
 * clocks: the clock of a file server lags, and the clock of a machine that was
 * suspended jumps. Too short to have a PID come round again. */
#define TOLERANCE (60 * SECOND)

bool
pidfile_is_trusted(int directory_fd, const struct stat *file)
{
	struct stat above;

	if (file->st_uid == geteuid() || file->st_uid == 0)
		return true;
	/* Without the sticky bit, whoever may write the directory can replace
	 * any file there: so a group is trusted, but not everybody. */
	return fstat(directory_fd, &above) == 0 &&
	       (above.st_uid == geteuid() || above.st_uid == 0) &&
	       (above.st_mode & (S_ISVTX | S_IWOTH)) == 0;
}

static int
check(int directory_fd, const struct stat *file)
{
	if (!pidfile_is_trusted(directory_fd, file))
		errno = EUSERS;
	else if (S_ISREG(file->st_mode))
		return 0;
	else
		errno = S_ISLNK(file->st_mode)   ? ELOOP
		        : S_ISDIR(file->st_mode) ? EISDIR
		                                 : ENOTSUP;
	return -1;
}

/* Checks before opening: to open a FIFO wakes a process that waits for the
 * other end (fifo(7)), to open a device may do anything. And checks again what
 * was opened. */
int
pidfile_open(int directory_fd, const char *name)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	struct stat file;

	if (fstatat(directory_fd, name, &file, AT_SYMLINK_NOFOLLOW) == -1 ||
	    check(directory_fd, &file) == -1)
		return -1;

	int fd = openat(directory_fd, name, O_RDWR | flags);

	if (fd == -1 && (errno == EACCES || errno == EPERM || errno == EROFS))
		fd = openat(directory_fd, name, O_RDONLY | flags);
	if (fd != -1 &&
	    (fstat(fd, &file) == -1 || check(directory_fd, &file) == -1)) {
		fds_close(fd);
		return -1;
	}
	return fd;
}

bool
pidfile_is_named(int directory_fd, const char *name, const struct stat *file)
{
	struct stat named;

	return fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == file->st_dev && named.st_ino == file->st_ino;
}

pid_t
pidfile_read(int fd, struct stat *file)
{
	char text[TEXT_SIZE] = "";
	const ssize_t length = pread(fd, text, sizeof(text), 0);
	char *end;

	if (length == -1 || fstat(fd, file) == -1)
		return -1;
	if (length < (ssize_t)sizeof(text)) {
		const long pid = strtol(text, &end, BASE);

		if (strspn(text, BLANKS) == (size_t)length)
			return 0;
		/* A null byte ends it too early. */
		if (end + strspn(end, BLANKS) == text + length && pid > 0 &&
		    pid <= PID_LAST)
			return (pid_t)pid;
	}
	errno = EINVAL;
	return -1;
}

/* A /proc of another PID namespace shows another process by the same PID. */
static bool
proc_is_ours(void)
{
	char self[TEXT_SIZE] = "";

	return readlink("/proc/self", self, sizeof(self) - 1) > 0 &&
	       strtol(self, NULL, BASE) == getpid();
}

bool
pidfile_has_owner(pid_t pid, const struct stat *file)
{
	struct procstat stat;
	struct timespec now;

	if (kill(pid, 0) == -1 && errno == ESRCH)
		return false;
	/* hidepid of proc(5) hides other users' processes. */
	if (!proc_is_ours() || procstat_read(pid, &stat) == -1)
		return true;
	if (procstat_is_dead(&stat)) /* a zombie */
		return false;
	/* The process got the PID later. In seconds, as utimensat(2) can set
	 * times that do not fit into 64 bits of nanoseconds. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - (procstat_age(&stat) + TOLERANCE) / SECOND <=
	       file->st_mtim.tv_sec;
}

int
pidfile_write(int fd, pid_t pid)
{
	char text[TEXT_SIZE];
	struct stat file;
	size_t length = (size_t)snprintf(text, sizeof(text), "%d\n", pid);

	if (fstat(fd, &file) == -1)
		return -1;
	/* Newlines, which $(cat FILE) drops, overwrite the rest of a longer
	 * text. After ftruncate(2), a reader could find an empty file. */
	while ((off_t)length < file.st_size && length < sizeof(text))
		text[length++] = '\n';
	return pwrite(fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}
