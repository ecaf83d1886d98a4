/* PID files: whose they are, and whether their owner lives. */
#include "lock/pidfile.h"

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
#include "proc/procfs.h"
#include "proc/procstat.h"

#define TEXT_SIZE 64 /* a PID and blanks; a longer file holds no PID */
#define BLANKS    " \t\n\v\f\r"
#define PID_LAST  4194304 /* PID_MAX_LIMIT; a larger number may be a time */

/* Seconds, by which a file's clock may lag: a file server's is late, and the
 * machine's jumps when it was suspended. No PID comes round again so soon. */
#define TOLERANCE 60

bool
pidfile_is_trusted(int directory_fd, const struct stat *status)
{
	struct stat above;

	if (status->st_uid == geteuid() || status->st_uid == 0)
		return true;
	/* Without the sticky bit, whoever may write the directory can replace
	 * any file there: so a group is trusted, but not everybody. */
	return fstat(directory_fd, &above) == 0 &&
	       (above.st_uid == geteuid() || above.st_uid == 0) &&
	       (above.st_mode & (S_ISVTX | S_IWOTH)) == 0;
}

static int
check(const struct pidfile *file)
{
	if (!S_ISREG(file->status.st_mode))
		errno = ENOTSUP;
	else if (!pidfile_is_trusted(file->directory_fd, &file->status))
		errno = EUSERS;
	else
		return 0;
	return -1;
}

int
pidfile_open(struct pidfile *file)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	file->fd = -1;
	/* Checks before opening: to open a FIFO wakes who waits for the other
	 * end, fifo(7), and to open a device may do anything. */
	if (fstatat(file->directory_fd, file->name, &file->status,
	            AT_SYMLINK_NOFOLLOW) == -1 ||
	    check(file) == -1)
		return -1;
	file->fd = openat(file->directory_fd, file->name, O_RDWR | flags);
	if (file->fd == -1 &&
	    (errno == EACCES || errno == EPERM || errno == EROFS))
		file->fd =
		    openat(file->directory_fd, file->name, O_RDONLY | flags);
	if (file->fd == -1 ||
	    (fstat(file->fd, &file->status) == 0 && check(file) == 0))
		return file->fd == -1 ? -1 : 0;
	fds_close(file->fd);
	file->fd = -1;
	return -1;
}

bool
pidfile_is_named(const struct pidfile *file)
{
	struct stat named;

	return fstatat(file->directory_fd, file->name, &named,
	               AT_SYMLINK_NOFOLLOW) == 0 &&
	       named.st_dev == file->status.st_dev &&
	       named.st_ino == file->status.st_ino;
}

pid_t
pidfile_read(struct pidfile *file)
{
	char text[TEXT_SIZE] = "";
	char *end = text;
	const ssize_t length = pread(file->fd, text, sizeof(text), 0);

	if (length == -1 || fstat(file->fd, &file->status) == -1)
		return -1;
	if (length < (ssize_t)sizeof(text)) {
		const long pid = strtol(text, &end, 10);

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

bool
pidfile_has_owner(const struct pidfile *file, pid_t pid)
{
	struct procstat stat;

	if (kill(pid, 0) == -1 && errno == ESRCH)
		return false;
	/* A /proc of another PID namespace shows another process by that PID;
	 * with hidepid, proc(5), it hides those of other users. */
	if (!procfs_is_ours() || procstat_read(pid, &stat) == -1)
		return true;
	/* A zombie is dead. Who began after the file was written got the PID
	 * later. In seconds: not all times fit into 64 bits of nanoseconds. */
	return !procstat_is_dead(&stat) &&
	       time(NULL) - procstat_age(&stat) / SECOND - TOLERANCE <=
	           file->status.st_mtim.tv_sec;
}

int
pidfile_write(const struct pidfile *file, pid_t pid)
{
	char text[TEXT_SIZE];
	size_t length = (size_t)snprintf(text, sizeof(text), "%d\n", pid);

	/* Newlines, which $(cat FILE) drops, overwrite the rest of a longer
	 * text. After ftruncate(2), a reader could find an empty file. */
	while ((off_t)length < file->status.st_size && length < sizeof(text))
		text[length++] = '\n';
	return pwrite(file->fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}
