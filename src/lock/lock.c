/* Locks that the kernel holds and shell scripts can read, and their cleanup. */
#include "lock/lock.h"

#include <sys/file.h>
#include <sys/inotify.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/kernel.h"
#include "base/path.h"
#include "base/text.h"
#include "proc/procfs.h"
#include "proc/tree.h"

/* --- PID files ------------------------------------------------------------ */

#define TEXT_SIZE 64 /* a PID and blanks; a longer file holds no PID */
#define BLANKS    " \t\n\v\f\r"
#define PID_LAST  4194304 /* PID_MAX_LIMIT; a larger number may be a time */

/* Seconds by which a file's clock may lag: a file server's is late, and the
 * machine's jumps after a suspension. wdrun(1), LIMITS. */
#define TOLERANCE 60

bool
pidfile_is_trusted(int directory_fd, const struct stat *status)
{
	struct stat above;

	if (status->st_uid == geteuid() || status->st_uid == 0)
		return true;
	/* A group that can replace any file here is trusted, everybody is not;
	 * and in a sticky directory each file is its owner's. */
	return fstat(directory_fd, &above) == 0 &&
	       (above.st_uid == geteuid() || above.st_uid == 0) &&
	       (above.st_mode & (S_ISVTX | S_IWOTH)) == 0;
}

static int
check_file(const struct pidfile *file)
{
	errno = pidfile_is_trusted(file->directory_fd, &file->status) ? ENOTSUP
	                                                              : EUSERS;
	return errno == ENOTSUP && S_ISREG(file->status.st_mode) ? 0 : -1;
}

/* Opens FILE for reading, and if possible for writing. Returns 0; or -1 with
 * errno: of open(2), EUSERS if it is not trusted, ENOTSUP if it is no file. */
static int
open_file(struct pidfile *file)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	fds_close(file->fd);
	file->fd = -1;
	/* Checks first: to open a FIFO wakes whoever waits for the other end,
	 * fifo(7), and to open a device may do anything. */
	if (fstatat(file->directory_fd, file->name, &file->status,
	            AT_SYMLINK_NOFOLLOW) == -1 ||
	    check_file(file) == -1)
		return -1;
	file->fd = openat(file->directory_fd, file->name, O_RDWR | flags);
	if (file->fd == -1)
		file->fd = openat(file->directory_fd, file->name, flags);
	return file->fd == -1 || fstat(file->fd, &file->status) == -1
	           ? -1
	           : check_file(file);
}

/* Whether the name of FILE still means the file that was opened. */
static bool
is_named(const struct pidfile *file)
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
	char text[TEXT_SIZE + 1] = "";
	const ssize_t length = pread(file->fd, text, TEXT_SIZE, 0);
	char *end; /* of the number; or TEXT, if it has none */
	const long pid = strtol(text, &end, 10);

	if (length == -1 || fstat(file->fd, &file->status) == -1)
		return -1;
	/* A null byte ends the number too early. */
	if (length < TEXT_SIZE && end + strspn(end, BLANKS) == text + length &&
	    (end == text || (pid > 0 && pid <= PID_LAST)))
		return (pid_t)pid;
	errno = EINVAL;
	return -1;
}

/* Whether the process that wrote PID, which was read from FILE, lives. True
 * where it cannot be known: no lock is taken from a living process. */
static bool
has_owner(const struct pidfile *file, pid_t pid)
{
	struct procstat stat;

	if (kill(pid, 0) == -1 && errno == ESRCH)
		return false;
	/* A /proc of another PID namespace shows another process by that PID;
	 * with hidepid, proc(5), it hides those of other users. */
	if (procfs_self() != getpid() || procfs_is_in_exec(pid) ||
	    procstat_read(pid, &stat) == -1)
		return true;
	/* A zombie is dead. Who began TOLERANCE after the file was written got
	 * the PID later. In seconds: not all times fit into 64 bits of ns. */
	return !stat.is_dead &&
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

/* --- --lock --------------------------------------------------------------- */

#define COMMAND_WIDTH 72   /* of the holder */
#define MODE          0644 /* other users may not write a PID */
#define TRIES         10   /* while others make and remove the file */
#define LOOK_INTERVAL (100 * MILLISECOND) /* if nothing tells of a change */

/* To unlink an open file is IN_ATTRIB, not IN_DELETE_SELF: inotify(7). */
#define EVENTS (IN_ATTRIB | IN_MODIFY | IN_MOVE_SELF)

int
lock_open(struct lock *lock, const char *path)
{
	*lock = (struct lock){
		.path = path,
		.file = { .directory_fd = path_open_directory(path, O_PATH),
		          .name = strrchr(path, '/') + 1,
		          .fd = -1 },
	};
	return lock->file.directory_fd == -1 ? -1 : 0;
}

/* Takes LOCK, if that is possible now. Returns 0; 1 if it has to be looked at
 * again; or -1 with errno: EWOULDBLOCK if another process holds it. The file of
 * a living process is not locked: to look at it is to be in nobody's way. A
 * stale file is taken over in place, since an flock(1) may wait for it. */
static int
try_to_take(struct lock *lock)
{
	struct pidfile *const file = &lock->file;
	const bool is_new = open_file(file) == -1;

	if (is_new && errno != ENOENT)
		return -1;
	if (is_new)
		file->fd = openat(file->directory_fd, file->name,
		                  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	if (file->fd == -1)
		return errno == EEXIST ? 1 : -1;

	pid_t pid = pidfile_read(file);

	/* "set -C; echo $$ >FILE" makes the file before it writes. */
	if (pid == 0 && !is_new &&
	    file->status.st_mtim.tv_sec >= time(NULL) - 1) {
		duration_sleep(LOOK_INTERVAL);
		pid = pidfile_read(file);
	}
	if (pid == -1)
		return -1;
	lock->holder =
	    pid > 0 && pid != getpid() && has_owner(file, pid) ? pid : 0;
	errno = EWOULDBLOCK;
	if (lock->holder > 0 || flock(file->fd, LOCK_EX | LOCK_NB) == -1)
		return -1;
	if (!is_named(file) || pidfile_read(file) != pid)
		return 1;
	/* The own PID is of a script that became wdrun by execve(2), and keeps
	 * its lock. But PID 1 is the first process of every container. */
	if (pid > 0 && (pid != getpid() || pid == 1))
		lock->last_owner = pid;
	if (pidfile_write(file, getpid()) == 0)
		return 0;
	/* For a script, an empty file is a lock, too: ENOSPC leaves none. */
	if (is_new)
		(void)unlinkat(file->directory_fd, file->name, 0);
	/* Another user's stale file, open for reading only, makes room. */
	if (errno == EBADF && unlinkat(file->directory_fd, file->name, 0) == 0)
		return 1;
	return -1;
}

/* As try_to_take(), with EWOULDBLOCK for a file that changes all the time. */
static int
take_lock(struct lock *lock)
{
	int result = 1;

	for (int i = 0; i < TRIES && result == 1; i++)
		result = try_to_take(lock);
	if (result == 1)
		errno = EWOULDBLOCK;
	return result == 0 ? 0 : -1;
}

/* Sleeps until LOCK may be free. Returns 0, or -1 as lock_take_all(). */
static int
await(struct lock *lock, const struct lock_wait *wait)
{
	enum { HOLDER, CHANGES, PARENT, COUNT };
	int64_t left = wait->deadline - duration_now();
	char path[TEXT_SIZE];

	errno = EWOULDBLOCK;
	if (left <= 0)
		return -1;

	struct pollfd fds[COUNT] = {
		[HOLDER] = { pidfd_open(lock->holder), POLLIN, 0 },
		[CHANGES] = { inotify_init1(IN_CLOEXEC), POLLIN, 0 },
		[PARENT] = { wait->parent_fd, POLLIN, 0 },
	};

	/* By its descriptor, as the name may mean another file by now. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", lock->file.fd);
	/* Nothing tells when an unknown process ends its flock(2): so we look
	 * again soon. Nothing tells of a change before the watch began: so we
	 * look again at once, after a ppoll(2) in which signals act. */
	if (inotify_add_watch(fds[CHANGES].fd, path, EVENTS) == -1 ||
	    fds[HOLDER].fd == -1)
		left = left < LOOK_INTERVAL ? left : LOOK_INTERVAL;
	else if (pidfile_read(&lock->file) != lock->holder ||
	         !is_named(&lock->file))
		left = 0;

	const bool is_orphan = fds_poll(fds, COUNT, left, &wait->mask) > 0 &&
	                       fds[PARENT].revents != 0;

	fds_close(fds[HOLDER].fd);
	fds_close(fds[CHANGES].fd);
	errno = ECANCELED;
	return is_orphan ? -1 : 0;
}

int
lock_take_all(struct lock *locks, size_t count, const struct lock_wait *wait,
              struct lock **refused)
{
	const pid_t owners[2] = { getpid() };

	for (;;) {
		size_t taken = 0;

		while (taken < count && take_lock(&locks[taken]) == 0)
			taken++;
		if (taken == count)
			return 0;

		const int why = errno;

		*refused = &locks[taken];
		while (taken > 0)
			(void)lock_release(&locks[--taken], owners);
		errno = why;
		if (why != EWOULDBLOCK || await(*refused, wait) == -1)
			return -1;
	}
}

int
lock_release(struct lock *lock, const pid_t owners[2])
{
	struct pidfile *const file = &lock->file;
	const pid_t pid = pidfile_read(file);
	int result = 0;

	/* 0: a script has emptied the file by ">". */
	if ((pid == 0 || pid == owners[0] || pid == owners[1]) &&
	    is_named(file))
		result = unlinkat(file->directory_fd, file->name, 0);
	/* Not by close(2): the other watcher has a copy of the descriptor. */
	(void)flock(file->fd, LOCK_UN);
	return result;
}

void
lock_add_holder(const struct lock *lock, struct strbuf *line)
{
	strbuf_addf(line,
	            lock->holder != 0 ? "PID %d ("
	                              : "another process, or by a descriptor "
	                                "that wdrun has inherited",
	            lock->holder);
	if (lock->holder == 0)
		return;
	cmdline_add(line, lock->holder, COMMAND_WIDTH);
	strbuf_addf(line, ")");
}

/* --- --cleanup ------------------------------------------------------------ */

/* A claim is a read lock on one byte of the file's directory, whose offset is a
 * hash of the name (high bits) and the time in ms when the run began. So a run
 * that named the file before it was made has a lock on a byte from the name's
 * first to that of the file's birth. The kernel drops a claim with the last
 * process that has the directory open: fcntl(2). */
#define TIME_BITS 42 /* until 2109; with NAME_BITS an off_t, which has 63 */
#define NAME_BITS 20
#define HAS_BIRTH 0x800U /* STATX_BTIME */

/* When NAME was made, as in struct cleanup. */
static int64_t
birth_of(int directory_fd, const char *name)
{
	struct kernel_statx birth;

	if (syscall(SYS_statx, directory_fd, name, AT_SYMLINK_NOFOLLOW,
	            HAS_BIRTH, &birth) == -1)
		return errno == ENOENT ? 0 : CLEANUP_UNKNOWN;
	if ((birth.mask & HAS_BIRTH) == 0 || birth.birth_seconds <= 0 ||
	    birth.birth_seconds >= CLEANUP_UNKNOWN / SECOND)
		return CLEANUP_UNKNOWN;
	return birth.birth_seconds * SECOND + birth.birth_nanoseconds;
}

/* Returns the byte of the file NAME for TIME. */
static off_t
byte_of(const char *name, int64_t time)
{
	const int64_t last = (INT64_C(1) << TIME_BITS) - 1;
	const int64_t ms = time / MILLISECOND;
	off_t hash = 0;

	for (; *name != '\0'; name++)
		hash = (hash * 33 + (unsigned char)*name) % (1 << NAME_BITS);
	return hash << TIME_BITS | (ms < last ? ms : last);
}

/* COMMAND claims the bytes of DIRECTORY_FD from FIRST to LAST, or, with
 * F_OFD_GETLK, asks whether another run has claimed one of them. */
static bool
claim(int directory_fd, int command, off_t first, off_t last)
{
	struct flock range = {
		.l_type = command == F_OFD_GETLK ? F_WRLCK : F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = last - first + 1,
	};

	return fcntl(directory_fd, command, &range) == 0 &&
	       range.l_type != F_UNLCK;
}

void
cleanup_begin(struct cleanup *cleanup, const char *path)
{
	/* Of the coarse clock, as a file's times: current_time(). */
	int64_t start = duration_of_clock(CLOCK_REALTIME_COARSE);
	const char *const name = strrchr(path, '/') + 1;

	cleanup->path = path;
	/* Without the directory, nothing is known or claimed. */
	cleanup->claim_fd = path_open_directory(path, O_RDONLY);
	cleanup->before = birth_of(cleanup->claim_fd, name);
	/* What was there is not claimed, even if it was made just now. */
	if (cleanup->before != CLEANUP_UNKNOWN && cleanup->before >= start)
		start = cleanup->before + MILLISECOND;
	/* Where a file system has no such locks, each run acts as if alone. */
	(void)claim(cleanup->claim_fd, F_OFD_SETLK, byte_of(name, start),
	            byte_of(name, start));
}

/* Whether the file is to be removed. Returns as cleanup_end(). */
static int
is_stale(const struct cleanup *cleanup, struct pidfile *place,
         const pid_t own[2], bool is_over)
{
	const pid_t pid = place->fd == -1 ? 0 : pidfile_read(place);

	if (pid == -1 && errno != EINVAL)
		return -1;
	if (pid > 0)
		return pid == own[0] || pid == own[1] || !has_owner(place, pid);
	if (!is_over)
		return 0;

	/* Without a PID: if made in this run or an older one that is over. */
	const int64_t birth = birth_of(place->directory_fd, place->name);

	errno = ENODATA;
	if (cleanup->before == CLEANUP_UNKNOWN)
		return -1;
	if (birth == cleanup->before)
		return 0;
	errno = EBUSY;
	return claim(place->directory_fd, F_OFD_GETLK, byte_of(place->name, 0),
	             byte_of(place->name, birth))
	           ? -1
	           : 1;
}

int
cleanup_end(const struct cleanup *cleanup, const pid_t own[2], bool is_over)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	/* First: of two runs that end at once, one must find no claim. */
	(void)fcntl(cleanup->claim_fd, F_OFD_SETLK, &all);

	struct pidfile place = {
		/* For reading: else the claims there cannot be seen. */
		.directory_fd = path_open_directory(cleanup->path, O_RDONLY),
		.name = strrchr(cleanup->path, '/') + 1,
		.fd = -1,
	};
	int result = -1;

	if (place.directory_fd != -1 &&
	    (open_file(&place) == 0 ||
	     (errno == ENOTSUP && S_ISDIR(place.status.st_mode))))
		result = is_stale(cleanup, &place, own, is_over);
	/* ENOLCK: this file system has no locks, so nobody holds one. */
	if (result == 1 && place.fd != -1 &&
	    flock(place.fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
		result = -1;
	if (result == 1 && !is_named(&place))
		result = 0;
	if (result == 1 && unlinkat(place.directory_fd, place.name,
	                            place.fd == -1 ? AT_REMOVEDIR : 0) == -1)
		result = -1;
	if (result == -1 && (errno == ENOENT || errno == ENOTDIR))
		result = 0;
	fds_close(place.fd);
	fds_close(place.directory_fd);
	return result;
}

const char *
lock_error(int why)
{
	switch (why) {
	case EINVAL:
		return "it is not a lock file: its content is not a PID";
	case ENOTSUP:
		return "it is a symbolic link, or not a regular file";
	case EUSERS:
		return "it is another user's, and others can write there";
	case EWOULDBLOCK:
		return "it is locked by another process";
	case EBUSY:
		return "another run may have made it: its directory is locked";
	case ENODATA:
		return "it names no process, and may have been there before";
	case ELOOP:
		return "its directory is behind a symbolic link that was made "
		       "since, or leads nowhere";
	default:
		return strerror(why);
	}
}
