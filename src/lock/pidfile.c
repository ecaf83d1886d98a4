/* PID files: reading, writing, and the state of the owner. */
#include "lock/pidfile.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fileinfo.h"
#include "base/strbuf.h"
#include "proc/pidfd.h"
#include "proc/procfs.h"
#include "proc/procstat.h"

#define BASE          10
#define TEXT_SIZE     64 /* a PID and blanks; a longer file holds no PID */
#define TIME_TO_WRITE (100 * MILLISECOND)

/* What may lie between the time of a file and the start of a process: the
 * kernel's coarse clock, up to 10 ms late (current_time()); FAT, in steps of
 * two seconds; clock ticks; and a leap second. */
#define TOLERANCE (3 * SECOND)

pid_t
pidfile_parse(const char *text, size_t length)
{
	size_t at = 0;
	long long pid = 0;

	while (at < length && isspace((unsigned char)text[at]))
		at++;
	if (at == length)
		return 0;
	for (; at < length && isdigit((unsigned char)text[at]); at++) {
		pid = pid * BASE + (text[at] - '0');
		if (pid > INT_MAX)
			break;
	}
	while (at < length && isspace((unsigned char)text[at]))
		at++;
	/* For kill(2), 0 is a process group. */
	if (at < length || pid == 0 || pid > INT_MAX) {
		errno = EINVAL;
		return -1;
	}
	return (pid_t)pid;
}

enum pidfile_owner
pidfile_owner_state(pid_t pid, int64_t written_at)
{
	struct procstat stat;

	/* The PID was written before execve(2) of wdrun: by this process, which
	 * may have been a shell, or by a dead process that had the same PID. */
	if (pid == getpid())
		return OWNER_REUSED;
	if (pid_is_dead(pid))
		return OWNER_DEAD;
	/* There is no /proc, or /proc hides the process (hidepid, proc(5)). */
	if (procfs_is_ours() == 0 || procstat_read(pid, &stat) == -1)
		return OWNER_ALIVE;
	if (procstat_is_dead(&stat))
		return OWNER_DEAD;

	const int64_t started_at = duration_since_epoch() - procstat_age(&stat);

	return started_at - TOLERANCE > written_at ? OWNER_REUSED : OWNER_ALIVE;
}

pid_t
pidfile_read(int fd)
{
	char text[TEXT_SIZE];
	const ssize_t length = pread(fd, text, sizeof(text), 0);

	if (length == -1 && errno != EISDIR)
		return -1;
	if (length == -1 || length == (ssize_t)sizeof(text)) {
		errno = EINVAL;
		return -1;
	}
	return pidfile_parse(text, (size_t)length);
}

pid_t
pidfile_read_owner(int fd, enum pidfile_owner *owner)
{
	struct fileinfo file;
	const pid_t pid = pidfile_read(fd);

	*owner = OWNER_DEAD;
	if (pid <= 0)
		return pid;
	if (fileinfo_of(fd, &file) == -1)
		return -1;
	*owner = pidfile_owner_state(pid, file.modified);
	return pid;
}

int64_t
pidfile_time_to_write(int fd)
{
	struct fileinfo file;

	if (fileinfo_of(fd, &file) == -1)
		return 0;

	const int64_t age = duration_since_epoch() - file.modified;

	return age >= 0 && age < TIME_TO_WRITE ? TIME_TO_WRITE - age : 0;
}

int
pidfile_write(int fd, pid_t pid, uint64_t size)
{
	char text[TEXT_SIZE];
	size_t length = strbuf_format(text, sizeof(text), "%d\n", pid);

	/* Newlines, which $(cat FILE) drops, overwrite the rest of a longer
	 * text. After ftruncate(2), a reader could find an empty file. */
	while (length < size && length < sizeof(text))
		text[length++] = '\n';
	return pwrite(fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}
