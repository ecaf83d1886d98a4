/* Locks that the kernel holds, and shell scripts can read. */
#include "lock/lock.h"

#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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
#include "lock/pidfile.h"
#include "proc/signals.h"

#define BIT(signal)   (UINT64_C(1) << ((signal)-1))
#define TERMINATING   (BIT(SIGHUP) | BIT(SIGINT) | BIT(SIGQUIT) | BIT(SIGTERM))
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
		.name = strrchr(path, '/') + 1,
		.directory_fd = path_open(path, PATH_NO_LINKS, name),
		.fd = -1,
	};
	return lock->directory_fd == -1 ? -1 : 0;
}

static void
close_file(struct lock *lock)
{
	fds_close(lock->fd);
	lock->fd = -1;
}

static bool
is_named(const struct lock *lock, const struct stat *file)
{
	return pidfile_is_named(lock->directory_fd, lock->name, file);
}

/* Opens the file, or makes it. Returns as look(). */
static int
open_file(struct lock *lock)
{
	close_file(lock);
	lock->is_new = false;
	lock->fd = pidfile_open(lock->directory_fd, lock->name);
	if (lock->fd == -1 && errno == ENOENT) {
		lock->fd = openat(lock->directory_fd, lock->name,
		                  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
		lock->is_new = lock->fd != -1;
		if (lock->fd == -1 && errno == EEXIST)
			return 1;
	}
	return lock->fd == -1 ? -1 : 0;
}

/* Writes this process's PID into the file, which is locked. Returns as look().
 */
static int
write_pid(const struct lock *lock)
{
	if (pidfile_write(lock->fd, getpid()) == 0)
		return 0;
	/* EBADF: the stale file of another user, who shares the directory, is
	 * open for reading only. It makes room for a new one. */
	if (errno == EBADF && unlinkat(lock->directory_fd, lock->name, 0) == 0)
		return 1;
	return -1;
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
	struct stat file;
	const int result = open_file(lock);

	if (result != 0)
		return result;

	const pid_t pid = pidfile_read(lock->fd, &file);

	if (pid == -1)
		return -1;
	lock->holder = 0;
	if (pid > 0 && pid != getpid() && pidfile_has_owner(pid, &file)) {
		lock->holder = pid;
		lock->last_owner = 0; /* whoever takes it next */
		errno = EWOULDBLOCK;
		return is_named(lock, &file) ? -1 : 1;
	}
	/* "set -C; echo $$ >FILE" makes the file before it writes. */
	if (pid == 0 && !lock->is_new && !*has_let_write &&
	    file.st_mtim.tv_sec >= time(NULL) - 1) {
		*has_let_write = true;
		duration_sleep(TIME_TO_WRITE);
		return 1;
	}
	if (flock(lock->fd, LOCK_EX | LOCK_NB) == -1)
		return is_named(lock, &file) ? -1 : 1; /* keeps errno */
	if (!is_named(lock, &file) || pidfile_read(lock->fd, &file) != pid)
		return 1;
	/* The own PID is of a script that became wdrun by execve(2), and keeps
	 * its lock. But PID 1 is the first process of every container. */
	if (pid > 0 && (pid != getpid() || pid == 1))
		lock->last_owner = pid;
	return write_pid(lock);
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
	/* Where nothing can be locked or written, no file stays. */
	if (result == -1 && errno != EWOULDBLOCK && lock->is_new) {
		const int why = errno;

		(void)unlinkat(lock->directory_fd, lock->name, 0);
		errno = why;
	}
	return result == 0 ? 0 : -1;
}

/* The set of the signals in MASK. sigaddset(3) would refuse some. */
static sigset_t
set_of(uint64_t mask)
{
	sigset_t set = { 0 };

	memcpy(&set, &mask, sizeof(mask));
	return set;
}

/* Whether the file has changed since look() found its holder. */
static bool
has_changed(const struct lock *lock)
{
	struct stat file;

	return pidfile_read(lock->fd, &file) != lock->holder ||
	       !is_named(lock, &file);
}

/* Sleeps until LOCK, which is held, may be free. Returns LOCK_FREE, or another
 * result of lock_take_all(). */
static enum lock_result
await(const struct lock *lock, struct lock_wait *wait)
{
	enum { SIGNALS, HOLDER, CHANGES, PARENT, COUNT };
	const sigset_t ending = set_of(TERMINATING);
	const sigset_t blocked = set_of(wait->callers_mask | TERMINATING);
	int64_t left = wait->deadline - duration_now();
	enum lock_result result = LOCK_FREE;
	struct signalfd_siginfo signal;
	char file[FD_PATH_SIZE];

	if (left <= 0)
		return LOCK_HELD;

	struct pollfd fds[COUNT] = {
		[SIGNALS] = { .fd = signalfd(-1, &ending, SFD_CLOEXEC) },
		[HOLDER] = { .fd = (int)syscall(SYS_pidfd_open, lock->holder,
		                                0) },
		[CHANGES] = { .fd = inotify_init1(IN_CLOEXEC) },
		[PARENT] = { .fd = wait->parent_fd },
	};

	for (int i = 0; i < COUNT; i++)
		fds[i].events = POLLIN;
	/* By its descriptor, as the name may mean another file by now. */
	(void)snprintf(file, sizeof(file), "/proc/self/fd/%d", lock->fd);
	/* Nothing tells when an flock(2) ends that is of no known process; nor
	 * what has changed before the watch began, but signals have to get in.
	 */
	if (inotify_add_watch(fds[CHANGES].fd, file, EVENTS) == -1 ||
	    fds[HOLDER].fd == -1)
		left = left < LOOK_INTERVAL ? left : LOOK_INTERVAL;
	else if (has_changed(lock))
		left = 0;

	const struct timespec time = { left / SECOND, left % SECOND };

	if (fds[SIGNALS].fd == -1) {
		result = LOCK_FAILED;
	} else if (ppoll(fds, COUNT, &time, &blocked) > 0) {
		if (fds[SIGNALS].revents != 0 &&
		    read(fds[SIGNALS].fd, &signal, sizeof(signal)) > 0 &&
		    !signal_is_ignored((int)signal.ssi_signo)) {
			wait->signal = (int)signal.ssi_signo;
			result = LOCK_SIGNALLED;
		} else if (fds[PARENT].revents != 0) {
			result = LOCK_PARENT_LOST;
		}
	}
	for (int i = 0; i < PARENT; i++)
		fds_close(fds[i].fd);
	return result;
}

enum lock_result
lock_take_all(struct lock *locks, size_t count, struct lock_wait *wait,
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
	struct stat file;
	const pid_t pid = pidfile_read(lock->fd, &file);
	int result = 0;

	/* 0: a script has emptied the file by ">". */
	if ((pid == 0 || pid == owners[0] || pid == owners[1]) &&
	    is_named(lock, &file))
		result = unlinkat(lock->directory_fd, lock->name, 0);

	const int why = errno;

	/* Not by close(2): a helper that hangs may have a copy of it. */
	(void)flock(lock->fd, LOCK_UN);
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
