/* Waiting for a lock, in the front, while nothing is started yet. */
#include "lockwait.h"

#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "fileinfo.h"
#include "fork.h"
#include "helper.h"
#include "lockfile.h"
#include "pidfd.h"
#include "signals.h"
#include "text.h"

#define FD_PATH_SIZE  64
#define LOOK_INTERVAL (100 * MILLISECOND) /* where nobody tells us */

/* A script that frees its lock and lives on removes the file, which is
 * IN_ATTRIB as long as it is open: inotify(7). */
#define CHANGES (IN_ATTRIB | IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF)

/* By descriptor, so that it is this file and no other. */
static int
watch_file(const struct lockfile *lock)
{
	const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char name[FD_PATH_SIZE];

	(void)text_format(name, sizeof(name), "/proc/self/fd/%d", lock->fd);
	if (fd != -1 && inotify_add_watch(fd, name, CHANGES) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/*
 * Blocks in flock(2), for which there is no other way to be told, on the open
 * file description of the front's: so the lock that it gets is the front's. Not
 * the front itself, since a timer's signal that came just before the call would
 * not end it.
 */
static _Noreturn void
block(const struct run *run, const struct lockfile *lock)
{
	helper_follow(run->front, SIGKILL);
	(void)prctl(PR_SET_NAME, "wd-lock", 0, 0, 0);
	(void)flock(lock->fd, LOCK_EX);
	_exit(0);
}

void
lockwait_begin(struct run *run, const struct lockfile *lock,
               struct lockwait *wait)
{
	struct fileinfo file = { .inode = 0 };

	(void)fileinfo_of(lock->fd, &file);
	*wait = (struct lockwait){
		.inode = file.inode,
		.is_flocked = lock->is_flocked,
		.holder = lock->holder,
		.change_fd = watch_file(lock),
		.holder_fd = lock->is_flocked || lock->holder == 0
		                 ? -1
		                 : pidfd_open(lock->holder),
		.helper = -1,
	};
	wait->signal_fd = signals_open();
	if (wait->signal_fd == -1)
		wait->why = errno;
	if (!lock->is_flocked)
		return;
	wait->helper = process_fork();
	if (wait->helper == 0)
		block(run, lock);
	if (wait->helper != -1)
		helper_add(&run->tree, wait->helper);
}

bool
lockwait_is_about(const struct lockwait *wait, const struct lockfile *lock)
{
	struct fileinfo file;

	return fileinfo_of(lock->fd, &file) == 0 && file.inode == wait->inode &&
	       lock->is_flocked == wait->is_flocked &&
	       lock->holder == wait->holder;
}

/* Whether all that can free the lock will be told. */
static bool
is_told(const struct lockwait *wait)
{
	return wait->change_fd != -1 &&
	       (wait->helper != -1 || wait->holder_fd != -1);
}

/* Reads a signal. Returns whether it ends the sleep. */
static bool
heed_signal(struct lockwait *wait)
{
	struct signalfd_siginfo info;

	if (read(wait->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;

	const int signal = (int)info.ssi_signo;

	if (signal == SIGCHLD)
		return true; /* the helper has the lock, say */
	if (signal_is_ignored(signal))
		return false;
	if (signal_is_terminal_stop(signal) || signal_is_terminating(signal))
		wait->signal = signal;
	return wait->signal != 0;
}

/* What is slept for. */
enum { SIGNALS, CHANGE, HOLDER, CALLER, COUNT };

/* How long it may be slept until DEADLINE. */
static int64_t
time_left(const struct lockwait *wait, int64_t deadline)
{
	const int64_t left =
	    deadline == NEVER ? NEVER : deadline - duration_now();

	if (left <= 0)
		return 0;
	return is_told(wait) || left < LOOK_INTERVAL ? left : LOOK_INTERVAL;
}

/* Whether what has come, if anything, ends the sleep, and in *END how. */
static bool
is_end(struct lockwait *wait, const struct pollfd fds[], enum lockwait_end *end)
{
	*end = LOCKWAIT_CHANGED;
	if (fds[CALLER].revents != 0) {
		*end = LOCKWAIT_CALLER_LOST;
		return true;
	}
	if (fds[SIGNALS].revents != 0 && heed_signal(wait)) {
		if (wait->signal != 0)
			*end = signal_is_terminal_stop(wait->signal)
			           ? LOCKWAIT_STOP
			           : LOCKWAIT_SIGNAL;
		return true;
	}
	return fds[CHANGE].revents != 0 || fds[HOLDER].revents != 0;
}

enum lockwait_end
lockwait_sleep(const struct run *run, struct lockwait *wait, int64_t deadline)
{
	struct pollfd fds[COUNT] = {
		[SIGNALS] = { .fd = wait->signal_fd, .events = POLLIN },
		[CHANGE] = { .fd = wait->change_fd, .events = POLLIN },
		[HOLDER] = { .fd = wait->holder_fd, .events = POLLIN },
		[CALLER] = { .fd = run->caller_fd, .events = POLLIN },
	};
	enum lockwait_end end = LOCKWAIT_CHANGED;
	int64_t left;

	if (wait->signal_fd == -1)
		return LOCKWAIT_FAILED;

	while ((left = time_left(wait, deadline)) > 0) {
		const struct timespec timeout = { left / SECOND,
			                          left % SECOND };

		if (ppoll(fds, COUNT, left == NEVER ? NULL : &timeout, NULL) >
		        0 &&
		    is_end(wait, fds, &end))
			return end;
		if (!is_told(wait))
			return LOCKWAIT_CHANGED;
	}
	return LOCKWAIT_OVER;
}

void
lockwait_end(struct run *run, struct lockwait *wait)
{
	const int fds[] = { wait->signal_fd, wait->change_fd, wait->holder_fd };

	if (wait->helper != -1)
		(void)helper_end(&run->tree, wait->helper, SIGKILL);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] != -1)
			(void)close(fds[i]);
	}
}
