/* Locks that the kernel holds, and shell scripts can read. */
#include "lock/lock.h"

#include <sys/file.h>
#include <sys/inotify.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/path.h"
#include "proc/pidfd.h"

#define MODE          0644 /* other users may not write a PID */
#define TRIES         100  /* while others make and remove the file */
#define TIME_TO_WRITE (100 * MILLISECOND)
#define LOOK_INTERVAL (100 * MILLISECOND) /* if nothing tells of a release */
#define FD_PATH_SIZE  64

/* Who unlinks a file that is open causes IN_ATTRIB (its link count changes),
 * not IN_DELETE_SELF: inotify(7). */
#define EVENTS (IN_ATTRIB | IN_MODIFY | IN_MOVE_SELF)

int
lock_open(struct lock *lock, const char *path)
{
	char name[PATH_MAX];

	*lock = (struct lock){
		.path = path,
		.file = { .directory_fd = path_open(path, PATH_NO_LINKS, name),
		          .name = strrchr(path, '/') + 1,
		          .fd = -1 },
	};
	return lock->file.directory_fd == -1 ? -1 : 0;
}

static void
close_file(struct lock *lock)
{
	fds_close(lock->file.fd);
	lock->file.fd = -1;
}

static int
unlink_file(const struct lock *lock)
{
	return unlinkat(lock->file.directory_fd, lock->file.name, 0);
}

/* Opens the file, or makes it. Returns as look(). */
static int
open_file(struct lock *lock)
{
	struct pidfile *const file = &lock->file;

	close_file(lock);
	lock->is_new = false;
	if (pidfile_open(file) == 0)
		return 0;
	if (errno != ENOENT)
		return -1;
	file->fd = openat(file->directory_fd, file->name,
	                  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	lock->is_new = file->fd != -1;
	if (lock->is_new)
		return 0;
	return errno == EEXIST ? 1 : -1;
}

/*
 * Takes LOCK, if that is possible now. Returns 0; 1 if it has to be looked at
 * again; or -1 with errno: EWOULDBLOCK if another process holds it.
 *
 * A file with a living process's PID is that process's, and is never locked: so
 * those who only look do not get into each other's way. What is stale is taken
 * over in place: an flock(1) that waits for the file stays on the right one.
 */
static int
look(struct lock *lock, bool *has_let_write)
{
	struct pidfile *const file = &lock->file;
	const int result = open_file(lock);

	if (result != 0)
		return result;

	const pid_t pid = pidfile_read(file);

	if (pid == -1)
		return -1;
	lock->holder = 0;
	if (pid > 0 && pid != getpid() && pidfile_has_owner(file, pid)) {
		lock->holder = pid;
		lock->last_owner = 0; /* whoever takes it next */
		errno = EWOULDBLOCK;
		return pidfile_is_named(file) ? -1 : 1;
	}
	/* "set -C; echo $$ >FILE" makes the file before it writes. */
	if (pid == 0 && !lock->is_new && !*has_let_write &&
	    file->status.st_mtim.tv_sec >= time(NULL) - 1) {
		*has_let_write = true;
		duration_sleep(TIME_TO_WRITE);
		return 1;
	}
	if (flock(file->fd, LOCK_EX | LOCK_NB) == -1)
		return pidfile_is_named(file) ? -1 : 1; /* keeps errno */
	if (!pidfile_is_named(file) || pidfile_read(file) != pid)
		return 1;
	/* The own PID is of a script that became wdrun by execve(2), and keeps
	 * its lock. But PID 1 is the first process of every container. */
	if (pid > 0 && (pid != getpid() || pid == 1))
		lock->last_owner = pid;
	if (pidfile_write(file, getpid()) == 0)
		return 0;
	/* EBADF: the stale file of another user, who shares the directory, is
	 * open for reading only. It makes room for a new one. */
	return errno == EBADF && unlink_file(lock) == 0 ? 1 : -1;
}

/* Takes LOCK. Returns 0; or -1 as look(), and with EWOULDBLOCK the file is
 * open, if it does not change all the time. */
static int
take(struct lock *lock)
{
	bool has_let_write = false;
	int result = 1;

	for (int i = 0; i < TRIES && result == 1; i++)
		result = look(lock, &has_let_write);
	if (result == 1)
		errno = EWOULDBLOCK;
	return result == 0 ? 0 : -1;
}

/* Sleeps until LOCK, which is held, may be free. Returns LOCK_FREE, or another
 * result of lock_take_all(). */
static enum lock_result
await(struct lock *lock, const struct lock_wait *wait)
{
	enum { HOLDER, CHANGES, PARENT, COUNT };
	int64_t left = wait->deadline - duration_now();
	enum lock_result result = LOCK_FREE;
	char path[FD_PATH_SIZE];
	sigset_t mask = { 0 };

	if (left <= 0)
		return LOCK_HELD;

	struct pollfd fds[COUNT] = {
		[HOLDER] = { pidfd_open(lock->holder), POLLIN, 0 },
		[CHANGES] = { inotify_init1(IN_CLOEXEC), POLLIN, 0 },
		[PARENT] = { wait->parent_fd, POLLIN, 0 },
	};

	/* By its descriptor, as the name may mean another file by now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", lock->file.fd);
	/* Nothing tells when an flock(2) ends that is of no known process; nor
	 * what has changed before the watch began, but signals have to get in.
	 */
	if (inotify_add_watch(fds[CHANGES].fd, path, EVENTS) == -1 ||
	    fds[HOLDER].fd == -1)
		left = left < LOOK_INTERVAL ? left : LOOK_INTERVAL;
	else if (pidfile_read(&lock->file) != lock->holder ||
	         !pidfile_is_named(&lock->file))
		left = 0;

	const struct timespec time = { left / SECOND, left % SECOND };

	/* sigaddset(3) refuses the signals that the C library uses. */
	memcpy(&mask, &wait->callers_mask, sizeof(wait->callers_mask));
	if (ppoll(fds, COUNT, &time, &mask) > 0 && fds[PARENT].revents != 0)
		result = LOCK_PARENT_LOST;
	fds_close(fds[HOLDER].fd);
	fds_close(fds[CHANGES].fd);
	return result;
}

enum lock_result
lock_take_all(struct lock *locks, size_t count, const struct lock_wait *wait,
              struct lock **refused)
{
	const pid_t owners[2] = { getpid() };

	for (;;) {
		size_t taken = 0;

		while (taken < count && take(&locks[taken]) == 0)
			taken++;
		if (taken == count)
			return LOCK_TAKEN;

		int why = errno;
		enum lock_result result = LOCK_FAILED;

		*refused = &locks[taken];
		while (taken > 0)
			(void)lock_release(&locks[--taken], owners);
		if (why == EWOULDBLOCK) {
			result = await(*refused, wait);
			why = errno;
		} else if ((*refused)->is_new) {
			/* Nothing can be locked or written there. */
			(void)unlink_file(*refused);
		}
		close_file(*refused);
		errno = why;
		if (result != LOCK_FREE)
			return result;
	}
}

int
lock_release(struct lock *lock, const pid_t owners[2])
{
	const pid_t pid = pidfile_read(&lock->file);
	int result = 0;

	/* 0: a script has emptied the file by ">". */
	if ((pid == 0 || pid == owners[0] || pid == owners[1]) &&
	    pidfile_is_named(&lock->file))
		result = unlink_file(lock);

	const int why = errno;

	/* Not by close(2): a helper that hangs may have a copy of it. */
	(void)flock(lock->file.fd, LOCK_UN);
	close_file(lock);
	errno = why;
	return result;
}

const char *
lock_error(int why)
{
	switch (why) {
	case EINVAL:
		return "it is not a lock file: its content is not a PID";
	case ENOTSUP:
		return "it is not a regular file";
	case EUSERS:
		return "it is another user's file, and others can write to "
		       "its directory";
	case EWOULDBLOCK:
		return "it is locked by another process";
	case EBUSY:
		return "another run may have made it: its directory is locked";
	case ENODATA:
		return "it names no process, and what was there before is not "
		       "known";
	default:
		return path_error(why);
	}
}
