/* Whether the owner of a PID file lives. */
#include "lockowner.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "fileinfo.h"
#include "pidfd.h"
#include "procfs.h"
#include "text.h"

#define BASE      10
#define TEXT_SIZE 64 /* a PID and blanks; what is longer is none */
#define JUST_NOW  (100 * MILLISECOND)

/*
 * A file's time comes from a clock that stands still for a hundredth of a
 * second (current_time() in the kernel), and FAT keeps it to two seconds; a
 * process's start is in clock ticks, and a leap second may lie between the two.
 */
#define TOLERANCE (3 * SECOND)

pid_t
lockowner_parse(const char *text, size_t length)
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
	/* kill(2) takes 0 for a group; it is nobody's PID. */
	if (at < length || pid == 0 || pid > INT_MAX) {
		errno = EINVAL;
		return -1;
	}
	return (pid_t)pid;
}

/* When the process of STAT was started, since the epoch. */
static int64_t
started_at(const struct procfs_stat *stat)
{
	return duration_since_epoch() - procfs_age(stat);
}

/* What can be said without /proc: a zombie can still be signalled, but its
 * pidfd is ready to be read. */
static enum lockowner
look_blindly(pid_t pid)
{
	struct pollfd death = { .fd = pidfd_open(pid), .events = POLLIN };
	bool is_dead;

	if (death.fd == -1)
		return errno == ESRCH ? LOCKOWNER_DEAD : LOCKOWNER_ALIVE;
	is_dead = poll(&death, 1, 0) == 1;
	(void)close(death.fd);
	return is_dead ? LOCKOWNER_DEAD : LOCKOWNER_ALIVE;
}

enum lockowner
lockowner_look(pid_t pid, int64_t written_at)
{
	struct procfs_stat stat;

	/* Nobody asks for what he has: it is from a time before us. */
	if (pid == getpid())
		return LOCKOWNER_REUSED;
	if (kill(pid, 0) == -1 && errno == ESRCH)
		return LOCKOWNER_DEAD;
	/* Hidden from us ("hidepid"), or no /proc: it is there, at least. */
	if (procfs_is_ours() == 0 || procfs_read_stat(pid, &stat) == -1)
		return look_blindly(pid);
	if (procfs_is_dead(&stat))
		return LOCKOWNER_DEAD;
	return started_at(&stat) - TOLERANCE > written_at ? LOCKOWNER_REUSED
	                                                  : LOCKOWNER_ALIVE;
}

pid_t
lockowner_read(int fd)
{
	char text[TEXT_SIZE];
	const ssize_t length = pread(fd, text, sizeof(text), 0);

	if (length == -1)
		return -1;
	if (length == (ssize_t)sizeof(text)) {
		errno = EINVAL;
		return -1;
	}
	return lockowner_parse(text, (size_t)length);
}

pid_t
lockowner_of(int fd, enum lockowner *owner)
{
	struct fileinfo file;
	const pid_t pid = lockowner_read(fd);

	*owner = LOCKOWNER_DEAD;
	if (pid <= 0)
		return pid;
	if (fileinfo_of(fd, &file) == -1)
		return -1;
	*owner = lockowner_look(pid, file.modified);
	return pid;
}

/* How long it is still to be waited for who has just made FD. */
static int64_t
time_to_write(int fd)
{
	struct fileinfo file;

	if (fileinfo_of(fd, &file) == -1)
		return 0;

	const int64_t age = duration_since_epoch() - file.modified;

	return age >= 0 && age < JUST_NOW ? JUST_NOW - age : 0;
}

bool
lockowner_is_awaited(int fd)
{
	return time_to_write(fd) > 0;
}

void
lockowner_await(int fd)
{
	(void)nanosleep(&(struct timespec){ .tv_nsec = time_to_write(fd) },
	                NULL);
}

int
lockowner_write(int fd, pid_t pid, uint64_t size)
{
	char text[TEXT_SIZE];
	size_t length = text_format(text, sizeof(text), "%d\n", pid);

	/* Newlines over the rest of what was longer: at no moment is there
	 * anything else to be read, and $(cat) drops them. */
	while (length < size && length < sizeof(text))
		text[length++] = '\n';
	return pwrite(fd, text, length, 0) == (ssize_t)length ? 0 : -1;
}
