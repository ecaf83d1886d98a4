/* Lock files, which the kernel locks and shell scripts can read. */
#include "lock/lockfile.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/strbuf.h"

#define MODE          0644 /* other users may not write a PID */
#define FD_PATH_SIZE  64
#define PAUSE         (5 * MILLISECOND)
#define TAKE_PATIENCE (25 * MILLISECOND)
#define PATIENCE      (200 * MILLISECOND)
#define PID_MAX_LIMIT 4194304 /* of proc(5), pid_max */
#define TRIES         4       /* at least, and for PATIENCE at least */
#define OPEN_FLAGS    (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Returns 1 if the open file FD is FILE, else 0; or -1 with errno. */
static int
is_same(int fd, const struct fileid *file)
{
	struct fileinfo opened;

	return fileinfo_of(fd, &opened) == -1
	           ? -1
	           : fileid_is_same(&opened.id, file);
}

/* Returns 1 if AT's name means the open file FD, else 0; or -1 with errno. */
static int
is_at(int fd, const struct pathat *at)
{
	struct fileinfo named;

	if (pathat_info(at, &named) == -1)
		return errno == ENOENT ? 0 : -1;
	return is_same(fd, &named.id);
}

/* Another user can change their file at any moment: the file is no lock in a
 * directory where that user can make files. But a group that shares a directory
 * without the sticky bit is trusted: its members can remove every lock
 * there. */
int
lockfile_check_owner(const struct pathat *at, const struct fileinfo *file)
{
	struct fileinfo above;

	if (file->owner == geteuid() || file->owner == 0)
		return 0;
	if (fileinfo_of(at->directory_fd, &above) == -1)
		return -1;

	const bool is_shared = (above.mode & (S_IWGRP | S_ISVTX)) == S_IWGRP;
	const mode_t others = is_shared ? S_IWOTH : S_IWGRP | S_IWOTH;

	if ((above.mode & others) == 0 &&
	    (above.owner == geteuid() || above.owner == 0))
		return 0;
	errno = EUSERS;
	return -1;
}

/* Checks that FILE, which is AT, can be a lock: a regular file or, FOR_REMOVAL,
 * a directory. Returns like lockfile_check(). */
static int
check_file(const struct pathat *at, const struct fileinfo *file,
           bool for_removal)
{
	if (lockfile_check_owner(at, file) == -1)
		return -1;
	if (S_ISREG(file->mode) || (for_removal && S_ISDIR(file->mode)))
		return 0;
	errno = S_ISLNK(file->mode)   ? ELOOP
	        : S_ISDIR(file->mode) ? EISDIR
	                              : ENOTSUP;
	return -1;
}

/* Checks the file before opening: the opening of a FIFO wakes up a process that
 * waits for the other end (fifo(7)), that of a device may do anything. Checks
 * again what was opened. Opens for writing if possible, as NFS requires for an
 * exclusive lock: flock(2). */
static int
open_file(const struct pathat *at, bool for_removal)
{
	struct fileinfo file;

	if (pathat_info(at, &file) == -1 ||
	    check_file(at, &file, for_removal) == -1)
		return -1;

	int fd = openat(at->directory_fd, at->name, O_RDWR | OPEN_FLAGS);

	if (fd == -1 && (errno == EACCES || errno == EPERM || errno == EROFS ||
	                 errno == EISDIR))
		fd = openat(at->directory_fd, at->name, O_RDONLY | OPEN_FLAGS);
	if (fd == -1 || (fileinfo_of(fd, &file) == 0 &&
	                 check_file(at, &file, for_removal) == 0))
		return fd;
	fds_close(fd);
	return -1;
}

const char *
lockfile_refusal(int why)
{
	switch (why) {
	case EINVAL:
		return "it is not a lock file: its content is not a PID";
	case ELOOP:
		return "it is a symbolic link";
	case EISDIR:
		return "it is a directory";
	case ENOTSUP:
		return "it is not a regular file";
	case EUSERS:
		return "it is another user's file, and others can write to "
		       "its directory";
	case EWOULDBLOCK:
		return "it is locked by another process";
	case EBUSY:
		return "another run may have made it: its directory is locked";
	default:
		return pathat_error(why);
	}
}

int
lockfile_check(const struct pathat *at)
{
	const int fd = open_file(at, false);

	if (fd == -1 && errno == ENOENT)
		return pathat_check_directory(at);
	if (fd == -1)
		return -1;

	const pid_t pid = pidfile_read(fd);

	fds_close(fd);
	return pid == -1 ? -1 : 0;
}

/* Makes a file without a name, locks and writes the file, then links the name:
 * no process ever finds the file unlocked or empty. */
static int
create_at_once(struct lockfile *lock)
{
	char name[FD_PATH_SIZE];

	lock->fd = openat(lock->at.directory_fd, ".",
	                  O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
	if (lock->fd == -1)
		return -1;
	(void)strbuf_format(name, sizeof(name), "/proc/self/fd/%d", lock->fd);
	if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0 &&
	    pidfile_write(lock->fd, getpid(), 0) == 0 &&
	    linkat(AT_FDCWD, name, lock->at.directory_fd, lock->at.name,
	           AT_SYMLINK_FOLLOW) == 0)
		return 0;
	lockfile_close(lock);
	return -1;
}

/* For file systems without O_TMPFILE, and where there is no /proc. A process
 * that opens the file before this process has locked it may get the lock. */
static int
create_in_steps(struct lockfile *lock)
{
	lock->fd = openat(lock->at.directory_fd, lock->at.name,
	                  O_RDWR | O_CREAT | O_EXCL | OPEN_FLAGS, MODE);
	if (lock->fd == -1)
		return -1;

	int why = flock(lock->fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;

	if (why == EWOULDBLOCK || is_at(lock->fd, &lock->at) != 1) {
		errno = EEXIST;
	} else if (why == 0 && pidfile_write(lock->fd, getpid(), 0) == 0) {
		return 0;
	} else {
		why = why == 0 ? errno : why;
		/* No other process has, or can have, the file locked
		 * (ENOLCK). */
		(void)unlinkat(lock->at.directory_fd, lock->at.name, 0);
		errno = why;
	}
	lockfile_close(lock);
	return -1;
}

static int
create(struct lockfile *lock)
{
	if (create_at_once(lock) == -1 &&
	    (errno == EEXIST || errno == ENOSPC || errno == EDQUOT ||
	     create_in_steps(lock) == -1))
		return -1;
	lock->is_taken = true;
	return 0;
}

/* Unlinks the name of AT if it means FD, which is locked. Returns 1; 0 if it
 * does not; or -1 with errno. */
static int
remove_from(const struct pathat *at, int fd)
{
	const int is_there = is_at(fd, at);

	if (is_there != 1)
		return is_there;
	if (unlinkat(at->directory_fd, at->name, 0) == 0 ||
	    (errno == EISDIR &&
	     unlinkat(at->directory_fd, at->name, AT_REMOVEDIR) == 0))
		return 1;
	return errno == ENOENT ? 0 : -1;
}

/* Locks FD. Waits up to TIME nanoseconds: a process that only checks a lock
 * file has the file locked for a moment, too. Returns 0, or -1 with errno. */
static int
lock_soon(int fd, int64_t time)
{
	for (; flock(fd, LOCK_EX | LOCK_NB) == -1; time -= PAUSE) {
		if (errno != EWOULDBLOCK || time <= 0)
			return -1;
		duration_sleep(PAUSE);
	}
	return 0;
}

/* Whether the owner is dead. In doubt, pidfile_owner_state() returns
 * OWNER_ALIVE: no lock is taken from a living process. */
static bool
is_gone(enum pidfile_owner owner)
{
	return owner == OWNER_DEAD || owner == OWNER_REUSED;
}

/* Notes that HOLDER holds LOCK, which is open. Returns like look_at(). */
static int
note_holder(struct lockfile *lock, pid_t holder)
{
	if (is_at(lock->fd, &lock->at) != 1)
		return 0;
	lock->holder = holder;
	lock->last_owner = 0; /* this process is not the next owner */
	errno = EWOULDBLOCK;
	return -1;
}

/* Decides on LOCK, which is now locked, and had PID before: takes it if PID is
 * this process's, waits for a PID in a new file, else unlinks the stale file.
 * Returns like look_at(). */
static int
look_again(struct lockfile *lock, pid_t pid, enum pidfile_owner owner)
{
	if (is_at(lock->fd, &lock->at) != 1 || pidfile_read(lock->fd) != pid)
		return 0;
	/* A script that became wdrun by execve(2) keeps its lock. */
	if (pid == getpid()) {
		lock->is_taken = true;
		return 0;
	}

	const int64_t time = pid == 0 ? pidfile_time_to_write(lock->fd) : 0;

	if (time > 0) {
		/* Unlocked meanwhile: the writer may want the lock too. */
		(void)flock(lock->fd, LOCK_UN);
		duration_sleep(time);
		return 0;
	}
	/* Stale. To unlink the file is not to take the lock: the process that
	 * makes the next file first has the lock. */
	if (remove_from(&lock->at, lock->fd) == -1)
		return -1;
	lock->last_owner = pid;
	lock->last_owner_state = owner;
	return 0;
}

/* Takes LOCK, which is open, if possible. If the PID in the file is of a living
 * process, that process holds LOCK, whichever process has an flock(2). Returns
 * 0 if LOCK is taken now, or has to be opened and checked again; or -1. */
static int
look_at(struct lockfile *lock)
{
	enum pidfile_owner owner;
	const pid_t pid = pidfile_read_owner(lock->fd, &owner);

	if (pid == -1)
		return -1;
	if (pid > 0 && !is_gone(owner))
		return note_holder(lock, pid);
	/* With this process's PID, the lock is this process's already, but
	 * several processes that check the file may lock it in turn. */
	const int64_t patience = pid == getpid() ? PATIENCE : TAKE_PATIENCE;

	if (lock_soon(lock->fd, patience) == 0)
		return look_again(lock, pid, owner);
	return errno == EWOULDBLOCK ? note_holder(lock, 0) : -1;
}

/* Returns 0 if LOCK is taken now, or has to be tried again; or -1. */
static int
try_once(struct lockfile *lock)
{
	if (lock->fd == -1)
		lock->fd = open_file(&lock->at, false);
	if (lock->fd == -1) {
		if (errno != ENOENT)
			return -1;
		return create(lock) == 0 || errno == EEXIST ? 0 : -1;
	}

	const int result = look_at(lock);

	/* A lock that is held stays open, to be waited for. */
	if (!lock->is_taken && (result == 0 || errno != EWOULDBLOCK))
		lockfile_close(lock);
	return result;
}

int
lockfile_take(struct lockfile *lock)
{
	const int64_t end = duration_now() + PATIENCE;

	for (int i = 0; i < TRIES || duration_now() < end; i++) {
		if (try_once(lock) == -1)
			return -1;
		if (lock->is_taken)
			return 0;
	}
	/* Other processes make, change or remove the file all the time. */
	lock->holder = 0;
	errno = EWOULDBLOCK;
	return -1;
}

void
lockfile_hand_over(const struct lockfile *lock, pid_t from, pid_t pid)
{
	struct fileinfo file;

	if (pidfile_read(lock->fd) == from && fileinfo_of(lock->fd, &file) == 0)
		(void)pidfile_write(lock->fd, pid, file.size);
}

int
lockfile_release(struct lockfile *lock, const pid_t owners[2])
{
	const pid_t pid = pidfile_read(lock->fd);
	int result = pid == -1 && errno != EINVAL ? -1 : 0;

	/* A script may have written its PID, or emptied the file by ">". */
	if (pid != -1 && (pid == 0 || pid == owners[0] || pid == owners[1]))
		result = remove_from(&lock->at, lock->fd);

	const int why = errno;

	(void)flock(lock->fd, LOCK_UN);
	errno = why;
	lockfile_close(lock);
	return result == -1 ? -1 : 0;
}

void
lockfile_close(struct lockfile *lock)
{
	fds_close(lock->fd);
	lock->fd = -1;
	lock->is_taken = false;
}

/* Whether a file with PID, of a process in state OWNER, is stale by RULE. */
static bool
is_stale(const struct lockfile_rule *rule, pid_t pid, enum pidfile_owner owner)
{
	/* A larger number is no PID, but perhaps a time. */
	if (pid <= 0 || pid > PID_MAX_LIMIT)
		return rule->without_pid;

	const bool is_own = pid == rule->own[0] || pid == rule->own[1];

	return rule->is_strict ? is_own && is_gone(owner)
	                       : is_own || is_gone(owner);
}

/* Does the work of remove_from(), if PID is still in the file FD. */
static int
remove_unchanged(const struct pathat *at, int fd, pid_t pid)
{
	const pid_t now = pidfile_read(fd);

	if (now == -1 && errno != EINVAL)
		return -1;
	return now == pid ? remove_from(at, fd) : 0;
}

int
lockfile_remove(const struct pathat *at, const struct lockfile_rule *rule)
{
	enum pidfile_owner owner;
	const int fd = open_file(at, rule->file != NULL);
	const bool is_directory =
	    rule->file != NULL && S_ISDIR(rule->file->mode);
	int result = 0;

	if (fd == -1)
		return errno == ENOENT ? 0 : -1;

	/* 0: another file has the name now. */
	const int is_judged =
	    rule->file == NULL ? 1 : is_same(fd, &rule->file->id);

	if (is_judged != 1) {
		fds_close(fd);
		return is_judged;
	}

	const pid_t pid = pidfile_read_owner(fd, &owner);

	if (pid == -1 && errno != EINVAL) {
		result = -1;
	} else if (is_stale(rule, pid, owner)) {
		/* Any errno but EWOULDBLOCK (ENOLCK) means that no process has
		 * a lock. EWOULDBLOCK does not save a directory: only a run
		 * that removes the directory locks it, for a moment. */
		result = lock_soon(fd, PATIENCE) == -1 &&
		                 errno == EWOULDBLOCK && !is_directory
		             ? -1
		             : remove_unchanged(at, fd, pid);
	} else if (pid <= 0) {
		result = -1;
		errno = ENODATA;
	}
	fds_close(fd);
	return result;
}
