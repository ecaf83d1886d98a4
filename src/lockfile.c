/* Lock files that are held by the kernel, and read by shell scripts. */
#include "lockfile.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "fileinfo.h"
#include "text.h"

#define MODE          0666
#define TEXT_SIZE     64 /* a PID and blanks; what is longer is none */
#define FD_PATH_SIZE  64
#define PAUSE         (5 * MILLISECOND)
#define LOOKERS_TIME  (25 * MILLISECOND)
#define REMOVERS_TIME (200 * MILLISECOND)
#define PID_MAX_LIMIT 4194304 /* of any kernel, proc(5) */
#define TRIES         1000
#define JUST_NOW      (100 * MILLISECOND)
#define OPEN_FLAGS    (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* Whether the open file FD is what is at PATH now: 1 or 0; or -1 with errno. */
static int
look_whether_at(int fd, const char *path)
{
	struct fileinfo opened;
	struct fileinfo named;

	if (fileinfo_of(fd, &opened) == -1)
		return -1;
	if (fileinfo_at(path, &named) == -1)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
	return opened.device == named.device && opened.inode == named.inode;
}

static bool
is_at(int fd, const char *path)
{
	return look_whether_at(fd, path) == 1;
}

/* Names what is there instead of a lock file. */
static int
refuse(mode_t mode)
{
	errno = S_ISLNK(mode) ? ELOOP : S_ISDIR(mode) ? EISDIR : ENOTSUP;
	return -1;
}

/*
 * Looked at first: to open a FIFO would wake up who waits for its other end,
 * and to open a device may do anything. For writing where that is allowed, as
 * NFS wants it for a lock that excludes: flock(2).
 */
static int
open_file(const char *path)
{
	struct fileinfo file;

	if (fileinfo_at(path, &file) == -1)
		return -1;
	if (!S_ISREG(file.mode))
		return refuse(file.mode);

	const int fd = open(path, O_RDWR | OPEN_FLAGS);

	if (fd != -1 || (errno != EACCES && errno != EPERM && errno != EROFS))
		return fd;
	return open(path, O_RDONLY | OPEN_FLAGS);
}

int
lockfile_check_owner(const char *path, const struct fileinfo *file)
{
	char directory[PATH_MAX];
	struct stat above;

	if (file->owner == geteuid())
		return 0;
	if (stat(fileinfo_directory_of(path, directory), &above) == -1)
		return -1;
	if ((above.st_mode & S_ISVTX) == 0)
		return 0;
	errno = EUSERS;
	return -1;
}

int
lockfile_check(const char *path)
{
	const int fd = open_file(path);

	if (fd == -1 && errno == ENOENT) {
		char directory[PATH_MAX];

		return access(fileinfo_directory_of(path, directory),
		              W_OK | X_OK);
	}
	if (fd == -1)
		return -1;

	const pid_t pid = lockowner_read(fd);
	const int why = errno;

	(void)close(fd);
	errno = why;
	return pid == -1 ? -1 : 0;
}

/* Makes what has no name yet, locked and written, appear at the path. */
static int
create_at_once(struct lockfile *lock)
{
	char directory[PATH_MAX];
	char name[FD_PATH_SIZE];

	lock->fd = open(fileinfo_directory_of(lock->path, directory),
	                O_TMPFILE | O_RDWR | O_CLOEXEC, MODE);
	if (lock->fd == -1)
		return -1;
	(void)text_format(name, sizeof(name), "/proc/self/fd/%d", lock->fd);
	if (flock(lock->fd, LOCK_EX | LOCK_NB) == 0 &&
	    lockowner_write(lock->fd, getpid(), 0) == 0 &&
	    linkat(AT_FDCWD, name, AT_FDCWD, lock->path, AT_SYMLINK_FOLLOW) ==
	        0)
		return 0;
	lockfile_close(lock);
	return -1;
}

/* For file systems without such files, and where there is no /proc. Whoever
 * opens it before it is locked may lock it, and has it then. */
static int
create_in_steps(struct lockfile *lock)
{
	lock->fd =
	    open(lock->path, O_RDWR | O_CREAT | O_EXCL | OPEN_FLAGS, MODE);
	if (lock->fd == -1)
		return -1;
	if (flock(lock->fd, LOCK_EX | LOCK_NB) == -1) {
		errno = errno == EWOULDBLOCK ? EEXIST : errno;
	} else if (!is_at(lock->fd, lock->path)) {
		errno = EEXIST;
	} else if (lockowner_write(lock->fd, getpid(), 0) == 0) {
		return 0;
	} else {
		const int why = errno;

		(void)unlink(lock->path); /* locked, and so ours */
		errno = why;
	}
	lockfile_close(lock);
	return -1;
}

static int
create(struct lockfile *lock)
{
	if (create_at_once(lock) == -1) {
		if (errno == EEXIST || errno == ENOSPC || errno == EDQUOT)
			return -1;
		if (create_in_steps(lock) == -1)
			return -1;
	}
	lock->is_taken = true;
	return 0;
}

/* What is in the file says nobody, or somebody who is dead. So it is not ours
 * yet: whoever makes the new one first has it. */
static int
take_over(struct lockfile *lock, pid_t pid, enum lockowner owner)
{
	struct fileinfo file;

	if (fileinfo_of(lock->fd, &file) == -1 ||
	    lockfile_check_owner(lock->path, &file) == -1)
		return -1;
	if (unlink(lock->path) == -1 && errno != ENOENT)
		return -1;
	lock->last_owner = pid;
	lock->fate = owner;
	return 0;
}

/* Locks FD. Who merely looks at a file has it locked for a moment, which is not
 * to be taken for more: so not to wait is to wait for PATIENCE. */
static int
lock_soon(int fd, int64_t patience)
{
	const struct timespec pause = { .tv_nsec = PAUSE };

	for (; flock(fd, LOCK_EX | LOCK_NB) == -1; patience -= PAUSE) {
		if (errno != EWOULDBLOCK || patience <= 0)
			return -1;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int
note_holder(struct lockfile *lock, bool is_flocked, pid_t holder)
{
	lock->is_flocked = is_flocked;
	lock->holder = holder;
	errno = EWOULDBLOCK;
	return -1;
}

/* LOCK is open and locked, and says PID, or did just now. Returns as look_at.
 */
static int
decide(struct lockfile *lock, pid_t pid, enum lockowner owner)
{
	if (!is_at(lock->fd, lock->path) || lockowner_read(lock->fd) != pid)
		return 0;
	/* A script that became wdrun by exec keeps what it has. */
	if (pid == getpid()) {
		lock->is_taken = true;
		return 0;
	}
	if (pid == 0 && lockowner_is_awaited(lock->fd)) {
		/* Looked at again when it is not locked by us. */
		(void)flock(lock->fd, LOCK_UN);
		lockowner_await(lock->fd);
		return 0;
	}
	return take_over(lock, pid, owner);
}

/*
 * LOCK is open. Returns 0, with the lock taken, or where it is to be opened and
 * looked at once more; or -1. Who is named and lives has it, whoever has an
 * flock(2) on it.
 */
static int
look_at(struct lockfile *lock)
{
	enum lockowner owner;
	const pid_t pid = lockowner_of(lock->fd, &owner);

	if (pid == -1)
		return -1;
	if (pid > 0 && pid != getpid() && owner == LOCKOWNER_ALIVE)
		return is_at(lock->fd, lock->path)
		           ? note_holder(lock, false, pid)
		           : 0;
	if (lock_soon(lock->fd, LOOKERS_TIME) == 0)
		return decide(lock, pid, owner);
	if (errno != EWOULDBLOCK)
		return -1;
	return is_at(lock->fd, lock->path) ? note_holder(lock, true, 0) : 0;
}

/* Returns 0, with the lock taken, or where it is to be tried again; or -1. */
static int
try_once(struct lockfile *lock)
{
	if (lock->fd == -1)
		lock->fd = open_file(lock->path);
	if (lock->fd == -1) {
		if (errno != ENOENT)
			return -1;
		return create(lock) == 0 || errno == EEXIST ? 0 : -1;
	}

	const int result = look_at(lock);

	/* One that is held stays open, to be waited for. */
	if (!lock->is_taken && (result == 0 || errno != EWOULDBLOCK))
		lockfile_close(lock);
	return result;
}

int
lockfile_take(struct lockfile *lock)
{
	for (int i = 0; i < TRIES; i++) {
		if (try_once(lock) == -1)
			return -1;
		if (lock->is_taken)
			return 0;
	}
	/* Others make and remove it all the time. */
	lock->holder = 0;
	errno = EWOULDBLOCK;
	return -1;
}

void
lockfile_hand_over(const struct lockfile *lock, pid_t from, pid_t pid)
{
	struct fileinfo file;

	if (lockowner_read(lock->fd) == from &&
	    fileinfo_of(lock->fd, &file) == 0)
		(void)lockowner_write(lock->fd, pid, file.size);
}

int
lockfile_release(struct lockfile *lock, const pid_t owners[2])
{
	const pid_t pid = lockowner_read(lock->fd);
	int result = pid == -1 && errno != EINVAL ? -1 : 0;

	/* A script may have written its own PID, or emptied it by ">". */
	if (pid != -1 && (pid == 0 || pid == owners[0] || pid == owners[1])) {
		result = look_whether_at(lock->fd, lock->path);
		if (result == 1)
			result = unlink(lock->path);
	}

	const int why = errno;

	(void)flock(lock->fd, LOCK_UN);
	lockfile_close(lock);
	errno = why;
	return result == -1 && why != ENOENT ? -1 : 0;
}

void
lockfile_close(struct lockfile *lock)
{
	const int why = errno;

	if (lock->fd != -1)
		(void)close(lock->fd);
	lock->fd = -1;
	lock->is_taken = false;
	errno = why;
}

/* Whether what says PID, whose fate is OWNER, has no owner any more. */
static bool
is_stale(const struct lockfile_rule *rule, pid_t pid, enum lockowner owner)
{
	/* A time, say. */
	if (pid <= 0 || pid > PID_MAX_LIMIT)
		return rule->without_pid;
	return owner != LOCKOWNER_ALIVE || pid == rule->own[0] ||
	       pid == rule->own[1];
}

/* Removes FD, which is locked, if it still says PID, and is at PATH. */
static int
remove_at(const char *path, int fd, pid_t pid)
{
	struct fileinfo file;
	const pid_t now = lockowner_read(fd);

	if (now == -1 && errno != EINVAL)
		return -1;
	if (now != pid)
		return 0;

	const int is_there = look_whether_at(fd, path);

	if (is_there != 1)
		return is_there;
	return fileinfo_of(fd, &file) == -1 ||
	               lockfile_check_owner(path, &file) == -1 ||
	               unlink(path) == -1
	           ? -1
	           : 1;
}

int
lockfile_remove(const char *path, const struct lockfile_rule *rule)
{
	enum lockowner owner;
	const int fd = open_file(path);
	int result = 0;

	if (fd == -1)
		return errno == ENOENT ? 0 : -1;

	const pid_t pid = lockowner_of(fd, &owner);

	if (pid == -1 && errno != EINVAL)
		result = -1;
	/* Where there are no locks (ENOLCK and the like) nobody has one. */
	else if (is_stale(rule, pid, owner) &&
	         (lock_soon(fd, REMOVERS_TIME) == 0 || errno != EWOULDBLOCK))
		result = remove_at(path, fd, pid);

	const int why = errno;

	(void)close(fd);
	errno = why;
	return result == -1 && why == ENOENT ? 0 : result;
}
