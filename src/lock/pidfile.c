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
#include "proc/procfs.h"
#include "proc/procstat.h"

#define TEXT_SIZE 64 /* a PID and blanks; a longer file holds no PID */
#define BLANKS    " \t\n\v\f\r"
#define PID_LAST  4194304 /* PID_MAX_LIMIT; a larger number may be a time */

/* Seconds, by which a file's clock may lag: a file server's is late, and the
 * machine's jumps when it was suspended. No PID comes round again so soon. */
#define TOLERANCE 60

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
	if (S_ISREG(file->st_mode) && pidfile_is_trusted(directory_fd, file))
		return 0;
	errno = S_ISREG(file->st_mode) ? EUSERS : ENOTSUP;
	return -1;
}

/* Checks before opening: to open a FIFO wakes who waits for the other end,
 * fifo(7), and to open a device may do anything. Then checks what was opened.
 */
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
	if (fd == -1 ||
	    (fstat(fd, &file) == 0 && check(directory_fd, &file) == 0))
		return fd;
	fds_close(fd);
	return -1;
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
	char *end = text;
	const ssize_t length = pread(fd, text, sizeof(text), 0);

	if (length == -1 || fstat(fd, file) == -1)
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
pidfile_has_owner(pid_t pid, const struct stat *file)
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
