/* The locks of a run: all or none. The front takes the locks before anything is
 * started. */
#include "lock/lockset.h"

#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/message.h"
#include "base/strbuf.h"
#include "lock/lockfile.h"
#include "proc/helper.h"
#include "proc/pidfd.h"
#include "proc/signals.h"

#define FD_PATH_SIZE  64
#define LOOK_INTERVAL (100 * MILLISECOND) /* if the lock has to be polled */

/* Unlinking a file that is still open causes IN_ATTRIB (link count,
 * inotify(7)), not IN_DELETE_SELF. A script may unlink its lock and live on. */
#define CHANGES (IN_ATTRIB | IN_MODIFY | IN_MOVE_SELF | IN_DELETE_SELF)

/* What tells that the lock may be free, or that the wait is over. */
struct watch {
	int signal_fd;
	int change_fd; /* inotify instance: the file has changed */
	int holder_fd; /* pidfd of the process whose PID is in the file */
	pid_t helper;  /* PID of the process in flock(2), or -1 */
	bool is_late;  /* the lock has changed before: do not sleep */
};

/* Watches the open file by way of /proc/self/fd, since its name may mean
 * another file by now. Returns a descriptor, or -1. */
static int
watch_file(const struct lockfile *lock)
{
	const int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char name[FD_PATH_SIZE];

	(void)strbuf_format(name, sizeof(name), "/proc/self/fd/%d", lock->fd);
	if (fd != -1 && inotify_add_watch(fd, name, CHANGES) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

/* Starts a helper that blocks in flock(2): the kernel has no other notice of a
 * released lock. In the front, a signal just before the call would not
 * interrupt the call. Helper and front share the file description, and so the
 * lock. */
static pid_t
start_helper(const struct lockfile *lock)
{
	const pid_t helper = helper_fork(SIGKILL);

	if (helper == 0) {
		(void)prctl(PR_SET_NAME, LOCKWAIT_NAME, 0, 0, 0);
		(void)flock(lock->fd, LOCK_EX);
		_exit(0);
	}
	return helper;
}

/* Returns 0, or -1 with errno of signalfd(2). If another descriptor is missing,
 * the lock is polled. */
static int
begin(struct watch *watch, const struct lockfile *lock)
{
	*watch = (struct watch){
		.change_fd = watch_file(lock),
		.holder_fd = lock->holder == 0 ? -1 : pidfd_open(lock->holder),
		.helper = -1,
	};
	watch->signal_fd = signals_open();
	if (watch->signal_fd == -1)
		return -1;
	if (lock->holder == 0 && lock->fd != -1)
		watch->helper = start_helper(lock);
	return 0;
}

/* Keeps errno. */
static void
end(const struct watch *watch)
{
	const int why = errno;

	(void)helper_end(watch->helper, SIGKILL);
	fds_close(watch->signal_fd);
	fds_close(watch->change_fd);
	fds_close(watch->holder_fd);
	errno = why;
}

/* Whether the kernel tells of each way in which the lock becomes free. */
static bool
is_complete(const struct watch *watch)
{
	return watch->change_fd != -1 &&
	       (watch->helper != -1 || watch->holder_fd != -1);
}

/* Reads a signal. Returns whether the signal ends the sleep; stores in *SIGNAL
 * a signal that stops or ends this process. */
static bool
take_signal(const struct watch *watch, int *signal)
{
	struct signalfd_siginfo info;

	if (read(watch->signal_fd, &info, sizeof(info)) !=
	    (ssize_t)sizeof(info))
		return false;

	const int number = (int)info.ssi_signo;

	/* The helper may have the lock. The signal of its death is lost while
	 * another process's SIGURG is pending: signal(7), standard signals. */
	if (number == SIGCHLD || number == HELPER_EXIT_SIGNAL)
		return true;
	if (signal_is_ignored(number) ||
	    !(signal_is_terminal_stop(number) || signal_is_terminating(number)))
		return false;
	*signal = number;
	return true;
}

static int64_t
time_left(const struct watch *watch, int64_t deadline)
{
	const int64_t left =
	    deadline == NEVER ? NEVER : deadline - duration_now();

	if (left <= 0)
		return 0;
	return is_complete(watch) || left < LOOK_INTERVAL ? left
	                                                  : LOOK_INTERVAL;
}

static enum lock_result
sleep_until(const struct watch *watch, int64_t deadline, int parent_fd,
            int *signal)
{
	enum { SIGNALS, CHANGE, HOLDER, PARENT, COUNT };
	struct pollfd fds[COUNT] = {
		[SIGNALS] = { .fd = watch->signal_fd, .events = POLLIN },
		[CHANGE] = { .fd = watch->change_fd, .events = POLLIN },
		[HOLDER] = { .fd = watch->holder_fd, .events = POLLIN },
		[PARENT] = { .fd = parent_fd, .events = POLLIN },
	};
	int64_t left;

	while ((left = time_left(watch, deadline)) > 0) {
		const int64_t time = watch->is_late ? 0 : left;
		const struct timespec timeout = { time / SECOND,
			                          time % SECOND };
		const int ready =
		    ppoll(fds, COUNT, time == NEVER ? NULL : &timeout, NULL);

		if (ready > 0 && fds[PARENT].revents != 0)
			return LOCK_PARENT_LOST;
		if (ready > 0 && fds[SIGNALS].revents != 0 &&
		    take_signal(watch, signal))
			return *signal == 0 ? LOCK_FREE : LOCK_SIGNALLED;
		if (ready > 0 &&
		    (fds[CHANGE].revents != 0 || fds[HOLDER].revents != 0))
			return LOCK_FREE;
		if (watch->is_late || !is_complete(watch))
			return LOCK_FREE;
	}
	return LOCK_HELD;
}

/* Returns the inode number of LOCK's file, or 0 if LOCK is not open. */
static uint64_t
inode_of(const struct lockfile *lock)
{
	struct fileinfo file;

	return fileinfo_of(lock->fd, &file) == -1 ? 0 : file.id.inode;
}

/* Sleeps until LOCK, which is open and held by another process, may be free
 * (LOCK_FREE), or for another result of lockset_take(). Stores in *SIGNAL the
 * signal that ends the wait. A terminal's stop (SIGTSTP) stops this process.
 * Other signals are dropped: there is no command yet that could get them. */
static enum lock_result
await(struct lockfile *lock, int64_t deadline, int parent_fd, int *signal)
{
	const uint64_t inode = inode_of(lock);
	const pid_t holder = lock->holder;
	struct watch watch;
	enum lock_result result = LOCK_FREE;

	*signal = 0;
	if (duration_now() >= deadline)
		return LOCK_HELD;
	if (begin(&watch, lock) == -1)
		result = LOCK_CANNOT_WAIT;
	/* No event tells of changes before the watch: so tries the lock again.
	 * If file or holder have changed, reads signals without sleeping: a
	 * lock that changes all the time must not keep signals out. */
	else if (lockfile_take(lock) == -1 && errno == EWOULDBLOCK) {
		watch.is_late =
		    inode_of(lock) != inode || lock->holder != holder;
		result = sleep_until(&watch, deadline, parent_fd, signal);
	}
	end(&watch);
	if (result != LOCK_SIGNALLED || !signal_is_terminal_stop(*signal))
		return result;
	/* The helper may have the lock: a stopped process must not hold it. */
	lockfile_close(lock);
	signal_stop_by(*signal);
	return LOCK_FREE;
}

/* Whether this run has locked FILE. */
static bool
has_taken(const struct lockset *set, const struct fileinfo *file)
{
	struct fileinfo other;

	for (size_t i = 0; i < set->count; i++) {
		const struct lockfile *const taken = &set->locks[i];

		if (taken->is_taken && fileinfo_of(taken->fd, &other) == 0 &&
		    fileid_is_same(&other.id, &file->id))
			return true;
	}
	return false;
}

/* Whether this run has locked the file of LOCK, which is open, already, under
 * another name. */
static bool
is_alias(const struct lockset *set, const struct lockfile *lock)
{
	struct fileinfo file;

	return lock->fd != -1 && fileinfo_of(lock->fd, &file) == 0 &&
	       has_taken(set, &file);
}

bool
lockset_has(const struct lockset *set, const struct pathat *at)
{
	struct fileinfo file;

	return pathat_info(at, &file) == 0 && has_taken(set, &file);
}

void
lockset_release(struct lockset *set, pid_t heir)
{
	const pid_t owners[2] = { set->owner, heir };

	for (size_t i = 0; i < set->count; i++) {
		struct lockfile *const lock = &set->locks[i];

		if (lock->is_taken && lockfile_release(lock, owners) == -1)
			message("--%s: cannot remove '%s': %s", "lock",
			        lock->at.path, strerror(errno));
		/* Close a lock that is not taken, too: the helper of await()
		 * may have the lock. Only set->refused is still needed. */
		if (lock != set->refused)
			lockfile_close(lock);
		lock->is_alias = false;
	}
}

/* Takes the locks that are not taken yet. Returns 0; or -1 with errno of
 * lockfile_take(), and set->refused is the lock that cannot be taken. Then no
 * lock is held, and only set->refused may be open. */
static int
take_all(struct lockset *set)
{
	for (size_t i = 0; i < set->count; i++) {
		struct lockfile *const lock = &set->locks[i];

		if (lock->is_taken || lock->is_alias ||
		    lockfile_take(lock) == 0)
			continue;

		const int why = errno;

		if (why == EWOULDBLOCK && is_alias(set, lock)) {
			lock->is_alias = true;
			lockfile_close(lock);
			continue;
		}
		set->refused = lock;
		lockset_release(set, 0);
		errno = why;
		return -1;
	}
	return 0;
}

enum lock_result
lockset_take(struct lockset *set, int64_t deadline, int parent_fd)
{
	while (take_all(set) == -1) {
		const enum lock_result result =
		    errno != EWOULDBLOCK ? LOCK_FAILED
		                         : await(set->refused, deadline,
		                                 parent_fd, &set->signal);

		if (result == LOCK_FREE)
			continue;
		/* The helper of await() may have the lock. */
		lockfile_close(set->refused);
		return result;
	}
	return LOCK_TAKEN;
}

void
lockset_hand_over(const struct lockset *set, pid_t owner)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->locks[i].is_taken)
			lockfile_hand_over(&set->locks[i], set->owner, owner);
	}
}
