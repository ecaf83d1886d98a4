/* Locks that the kernel holds and shell scripts can read, and their cleanup. */
#include "lock/lock.h"

#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/kernel.h"
#include "base/path.h"
#include "base/text.h"
#include "proc/procfs.h"
#include "proc/signals.h"

/* --- PID files ------------------------------------------------------------ */

#define TEXT_SIZE 1024 /* a longer file holds more than a PID */
#define BLANKS    " \t\n\v\f\r"
#define MARK      "\n\n"  /* behind the PID: "$(cat FILE)" drops it */
#define PID_LAST  4194304 /* PID_MAX_LIMIT; a larger number may be a time */

/* Seconds by which a file's clock may lag: a file server's is late, and the
 * machine's jumps after a suspension. wdrun(1), LIMITS. */
#define TOLERANCE 60

enum refusal
pidfile_check(int directory_fd, const struct stat *status)
{
	/* A hard link of another user's may lead to any file of this user. */
	const bool is_own =
	    (status->st_uid == geteuid() || status->st_uid == 0) &&
	    (status->st_nlink <= 1 || S_ISDIR(status->st_mode));
	struct stat above;

	/* A group that can replace any file here is trusted, everybody is not;
	 * and in a sticky directory each file is its owner's. */
	if (!is_own && (fstat(directory_fd, &above) == -1 ||
	                (above.st_uid != geteuid() && above.st_uid != 0) ||
	                (above.st_mode & (S_ISVTX | S_IWOTH)) != 0))
		return REFUSAL_ANOTHERS;
	return S_ISREG(status->st_mode) ? REFUSAL_NONE : REFUSAL_NO_FILE;
}

/* Returns when NAME was made, or else was last changed; and in *WHICH what
 * tells that file from a later one of that name, as in struct cleanup. */
static int64_t
made_at(int directory_fd, const char *name, int64_t *which)
{
	struct kernel_statx birth;
	struct stat file;

	if (fstatat(directory_fd, name, &file, AT_SYMLINK_NOFOLLOW) == -1)
		return *which = errno == ENOENT ? 0 : CLEANUP_UNKNOWN;
	/* An ext4 that was an ext3 says 0 of the files from that time. */
	if (syscall(SYS_statx, directory_fd, name, AT_SYMLINK_NOFOLLOW,
	            KERNEL_STATX_BTIME, &birth) == 0 &&
	    (birth.mask & KERNEL_STATX_BTIME) != 0 && birth.birth_seconds > 0)
		return *which = birth.birth_seconds * SECOND +
		                birth.birth_nanoseconds;
	/* An inode keeps its number, while its time of change moves. */
	*which = -(int64_t)file.st_ino;
	if (file.st_ctim.tv_sec <= 0) /* it has none: any claim may be older */
		return CLEANUP_UNKNOWN;
	/* Some file systems keep whole seconds: it was made in that second. */
	return file.st_ctim.tv_sec * SECOND +
	       (file.st_ctim.tv_nsec == 0 ? SECOND - 1 : file.st_ctim.tv_nsec);
}

/* Opens FILE for reading, and if possible for writing. */
static enum refusal
open_pidfile(struct pidfile *file)
{
	const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	enum refusal why;

	fds_close(file->fd);
	file->fd = -1;
	/* Checks first: to open a FIFO wakes whoever waits for the other end,
	 * fifo(7), and to open a device may do anything. */
	if (fstatat(file->directory_fd, file->name, &file->status,
	            AT_SYMLINK_NOFOLLOW) == -1)
		return REFUSAL_ERRNO;
	why = pidfile_check(file->directory_fd, &file->status);
	if (why != REFUSAL_NONE)
		return why;
	file->fd = openat(file->directory_fd, file->name, O_RDWR | flags);
	if (file->fd == -1)
		file->fd = openat(file->directory_fd, file->name, flags);
	return file->fd == -1 || fstat(file->fd, &file->status) == -1
	           ? REFUSAL_ERRNO
	           : pidfile_check(file->directory_fd, &file->status);
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

/* Returns what errno means after a call for an open lock file. */
static enum refusal
refusal_of_errno(void)
{
	/* An SMB share refuses to read a file that another host has locked:
	 * flock(2). A file server may have removed the file since. */
	if (errno == EWOULDBLOCK || errno == EACCES)
		return REFUSAL_HELD;
	return errno == ESTALE ? REFUSAL_CHANGING : REFUSAL_ERRNO;
}

enum refusal
pidfile_read(struct pidfile *file)
{
	char text[TEXT_SIZE + 1] = "";
	const ssize_t length = pread(file->fd, text, TEXT_SIZE, 0);

	if (length == -1 || fstat(file->fd, &file->status) == -1)
		return refusal_of_errno();

	const char *const key = strstr(text, "\"pid\"");
	const char *const number =
	    key == NULL ? text : key + strcspn(key, "0123456789,}");
	char *end; /* of the number; or TEXT, if that has none */
	const long pid = strtol(number, &end, 10);
	const size_t newlines = strspn(end, "\n");

	file->is_marked = newlines >= strlen(MARK) && end[newlines] == '\0';
	file->was_blank = file->is_marked && newlines > strlen(MARK);
	/* strchr(3) also finds the null byte at the end of TEXT. */
	file->pid =
	    pid > 0 && pid <= PID_LAST && strchr(BLANKS ",}\"", *end) != NULL
	        ? (pid_t)pid
	        : 0;
	/* A null byte within the text ends TEXT before LENGTH. */
	return number == text && (end == text || file->pid > 0) &&
	               end + strspn(end, BLANKS) == text + length &&
	               length < TEXT_SIZE
	           ? REFUSAL_NONE
	           : REFUSAL_NO_PID;
}

/* Whether the process that wrote FILE's PID lives. True where it cannot be
 * known: no lock is taken from a living process. */
static bool
has_owner(const struct pidfile *file)
{
	struct procstat stat;

	if (file->pid == 0 || (kill(file->pid, 0) == -1 && errno == ESRCH))
		return false;
	/* A /proc of another PID namespace shows another process by that PID;
	 * with hidepid, proc(5), it hides those of other users. */
	if (!procfs_is_ours() || procstat_read(file->pid, &stat) == -1)
		return true;
	/* A process that began TOLERANCE after the file was written got the PID
	 * later. In seconds: not all times fit into 64 bits of ns. */
	return !stat.is_dead &&
	       time(NULL) - procstat_age(&stat) / SECOND - TOLERANCE <=
	           file->status.st_mtim.tv_sec;
}

int
pidfile_write(const struct pidfile *file, pid_t pid)
{
	char text[TEXT_SIZE];
	const int end = snprintf(text, sizeof(text), "%d" MARK "%s", pid,
	                         file->was_blank ? "\n" : "");
	size_t length = (size_t)end;

	/* Blanks overwrite the rest of a longer text: whoever reads it, now or
	 * after a SIGKILL, finds a PID. If ftruncate(2) came first, a reader
	 * could find an empty file. */
	while ((off_t)length < file->status.st_size && length < sizeof(text))
		text[length++] = ' ';
	return pwrite(file->fd, text, length, 0) == (ssize_t)length
	           ? ftruncate(file->fd, end)
	           : -1;
}

/* --- --lock --------------------------------------------------------------- */

#define COMMAND_WIDTH 72      /* of the holder */
#define MODE          0644    /* other users may not write a PID */
#define MADE_BY_RUN   S_ISVTX /* a mark that means nothing else on a file */
#define LOOKS_MAX     10      /* while others make and remove the file */
#define JUST_NOW      (250 * MILLISECOND) /* on a busy machine */
#define LOOK_INTERVAL (100 * MILLISECOND) /* if nothing tells of a change */

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

/* Opens FILE, or makes it: then it IS_NEW. Reads it. */
static enum refusal
open_or_make(struct pidfile *file, bool *is_new)
{
	const enum refusal why = open_pidfile(file);

	*is_new = why == REFUSAL_ERRNO && errno == ENOENT;
	if (!*is_new)
		return why == REFUSAL_NONE ? pidfile_read(file) : why;
	file->fd =
	    openat(file->directory_fd, file->name,
	           O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, MODE | MADE_BY_RUN);
	if (file->fd != -1)
		return pidfile_read(file);
	return errno == EEXIST ? REFUSAL_CHANGING : REFUSAL_ERRNO;
}

/* Removes FILE, which this process has made, and keeps errno: for a script, an
 * empty file is a lock. */
static void
unmake(const struct pidfile *file)
{
	const int why = errno;

	if (is_named(file))
		(void)unlinkat(file->directory_fd, file->name, 0);
	errno = why;
}

/* Takes LOCK, if that is possible now. We do not even lock a file whose PID
 * lives: that process may be about to lock it. We take over a stale file in
 * place, as an flock(1) may wait for it. */
static enum refusal
try_to_take(struct lock *lock)
{
	struct pidfile *const file = &lock->file;
	bool is_new;
	const enum refusal why = open_or_make(file, &is_new);

	lock->holder = 0;
	if (why != REFUSAL_NONE)
		return why;

	const pid_t pid = file->pid;
	int64_t which;
	const int64_t age = duration_of_clock(CLOCK_REALTIME) -
	                    made_at(file->directory_fd, file->name, &which);

	/* "set -C; echo $$ >FILE" makes the file before it writes. */
	if (pid == 0 && !is_new && llabs(age) < JUST_NOW)
		return REFUSAL_CHANGING;
	lock->holder = pid != getpid() && has_owner(file) ? pid : 0;
	/* The PID of a run counts only while that run locks the file. */
	if (lock->holder > 0 && !file->is_marked)
		return REFUSAL_HELD;
	if (flock(file->fd, LOCK_EX | LOCK_NB) == -1) {
		if (is_new && refusal_of_errno() == REFUSAL_ERRNO)
			unmake(file);
		return refusal_of_errno();
	}
	if (!is_named(file) || pidfile_read(file) != REFUSAL_NONE ||
	    file->pid != pid) {
		(void)flock(file->fd, LOCK_UN);
		return REFUSAL_CHANGING;
	}
	file->was_blank |=
	    pid == 0 && !is_new && (file->status.st_mode & MADE_BY_RUN) == 0;
	/* Our own PID is of a script that became wdrun by execve(2) and keeps
	 * its lock. But PID 1 is the first process of every container. */
	if (pid > 0 && (pid != getpid() || pid == 1))
		lock->last_owner = pid;
	if (pidfile_write(file, getpid()) == 0)
		return REFUSAL_NONE;
	if (is_new) /* ENOSPC, say */
		unmake(file);
	/* EBADF: another user's stale file, open for reading. We make room. */
	if (pid > 0 && errno == EBADF &&
	    unlinkat(file->directory_fd, file->name, 0) == 0)
		return REFUSAL_CHANGING;
	errno = errno == EBADF ? EACCES : errno;
	return REFUSAL_ERRNO;
}

/* Sleeps until LOCK may be free, for TIME at most. Returns why the wait is in
 * vain, or REFUSAL_NONE. */
static enum refusal
await(const struct lock *lock, const struct lock_wait *wait, int64_t time)
{
	enum { HOLDER, CHANGES, PARENT, READER, COUNT };
	struct pollfd fds[COUNT] = {
		[HOLDER] = { pidfd_open(lock->holder), POLLIN, 0 },
		[CHANGES] = { inotify_init1(IN_CLOEXEC), POLLIN, 0 },
		[PARENT] = { wait->parent_fd, POLLIN, 0 },
		[READER] = { wait->reader_fd, 0, 0 }, /* POLLERR, POLLHUP */
	};
	/* Nothing tells of what another machine does to the file, nor when an
	 * unknown process ends its flock(2). */
	const int64_t interval = fds[HOLDER].fd == -1 ? LOOK_INTERVAL : SECOND;
	char path[TEXT_SIZE];

	/* By its descriptor, as the name may mean another file by now. To
	 * unlink an open file is IN_ATTRIB, not IN_DELETE_SELF: inotify(7). */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", lock->file.fd);
	(void)inotify_add_watch(fds[CHANGES].fd, path,
	                        IN_ATTRIB | IN_MODIFY | IN_MOVE_SELF);
	(void)fds_poll(fds, COUNT, time < interval ? time : interval,
	               &wait->mask);
	fds_close(fds[HOLDER].fd);
	fds_close(fds[CHANGES].fd);
	if (fds[PARENT].revents != 0)
		return REFUSAL_PARENT_DIED;
	return fds[READER].revents != 0 ? REFUSAL_READER_GONE : REFUSAL_NONE;
}

enum refusal
lock_take_all(struct lock *locks, size_t count, const struct lock_wait *wait,
              struct lock **refused)
{
	const pid_t owners[2] = { getpid() };

	for (int looks = 1;; looks++) {
		enum refusal why = REFUSAL_NONE;
		size_t taken = 0;

		while (taken < count &&
		       (why = try_to_take(&locks[taken])) == REFUSAL_NONE)
			taken++;
		if (taken == count)
			return REFUSAL_NONE;

		const int error = errno;
		int64_t left = wait->deadline - duration_now();

		*refused = &locks[taken];
		while (taken > 0)
			(void)lock_release(&locks[--taken], owners);
		errno = error;
		if (why == REFUSAL_CHANGING) {
			why = REFUSAL_HELD;
			(*refused)->holder = 0;
			if (looks < LOOKS_MAX) /* without --lock-wait, too */
				left = LOOK_INTERVAL;
		}
		if (why != REFUSAL_HELD || left <= 0)
			return why;
		why = await(*refused, wait, left);
		if (why != REFUSAL_NONE)
			return why;
	}
}

int
lock_release(const struct lock *lock, const pid_t owners[2])
{
	const struct pidfile *const file = &lock->file;
	struct pidfile now = *file;
	const enum refusal why = pidfile_read(&now);
	/* A script may have emptied our file by ">", or appended a text to it:
	 * it is ours all the same. */
	const bool is_own = now.pid == 0
	                        ? why == REFUSAL_NONE
	                        : now.pid == owners[0] || now.pid == owners[1];
	int result = 0;

	/* A file that was blank is one for flock(1), which may wait for it. */
	if (is_own && file->was_blank)
		result = ftruncate(file->fd, 0);
	else if (is_own && is_named(file))
		result = unlinkat(file->directory_fd, file->name, 0);
	/* A mount point, say, cannot be unlinked: blank, it names nobody. */
	if (result == -1)
		result = ftruncate(file->fd, 0);
	/* Not by close(2): the other watcher has a copy of the descriptor. */
	(void)flock(file->fd, LOCK_UN);
	return result;
}

void
lock_add_holder(const struct lock *lock, struct strbuf *line)
{
	const pid_t holder = lock->holder;
	/* A marked PID is a run's, perhaps one of another PID namespace. */
	const bool is_unseen =
	    lock->file.is_marked && !procfs_bears(holder, "wdrun") &&
	    !procfs_bears(holder, program_invocation_short_name);

	if (holder == 0) {
		strbuf_addf(line, "another process, or by a descriptor that "
		                  "wdrun has inherited");
	} else if (is_unseen) {
		strbuf_addf(line, "PID %d of a run that is not seen here",
		            holder);
	} else {
		strbuf_addf(line, "PID %d (", holder);
		cmdline_add(line, holder, COMMAND_WIDTH);
		strbuf_addf(line, ")");
	}
}

/* --- --cleanup ------------------------------------------------------------ */

/* A claim is a read lock on one byte of the file's directory, whose offset is a
 * hash of the name (high bits) and the time in ms when the run began (low
 * bits). So an older run may have made a file if a byte from (name, 0) to
 * (name, time when it was made) is locked. The kernel drops a claim with the
 * last process that has the directory open: fcntl(2). */
#define TIME_BITS 42 /* until 2109; with NAME_BITS an off_t, which has 63 */
#define NAME_BITS 20
#define LAST_BYTE (-1)       /* of any file */
#define OVERLAYFS 0x794c7630 /* its magic number: linux/magic.h */

/* Returns the byte of the file NAME for TIME. */
static off_t
byte_of(const char *name, int64_t time)
{
	const int64_t last = (INT64_C(1) << TIME_BITS) - 1;
	const int64_t ms = time / MILLISECOND;
	off_t hash = 0;

	for (; *name != '\0'; name++)
		hash = (hash * 65599 + (unsigned char)*name) % (1 << NAME_BITS);
	return hash << TIME_BITS | (ms < last ? ms : last);
}

/* Whether another process has locked a byte of FD from FIRST to LAST. */
static bool
is_claimed(int fd, off_t first, off_t last)
{
	struct flock range = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = last - first + 1, /* 0: no end */
	};

	return fcntl(fd, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

void
cleanup_begin(struct cleanup *cleanup, const char *path)
{
	/* Of the coarse clock, as a file's times: current_time(). */
	int64_t start = duration_of_clock(CLOCK_REALTIME_COARSE);
	const char *const name = strrchr(path, '/') + 1;
	struct flock claim = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int64_t made;

	cleanup->path = path;
	/* Without the directory, nothing is known or claimed. */
	cleanup->claim_fd = path_open_directory(path, O_RDONLY);
	made = made_at(cleanup->claim_fd, name, &cleanup->before);
	/* We claim later times only: what is there already is not ours. */
	if (made != CLEANUP_UNKNOWN && made >= start)
		start = made + MILLISECOND;
	/* Where a file system has no such locks, each run acts as if alone. */
	claim.l_start = byte_of(name, start);
	claim.l_len = 1;
	(void)fcntl(cleanup->claim_fd, F_OFD_SETLK, &claim);
}

/* PLACE names no process. Returns REFUSAL_NONE if this run has made what is
 * there, or one that is over. */
static enum refusal
judge_by_time(const struct cleanup *cleanup, const struct pidfile *place)
{
	struct statfs system;
	int64_t which;
	const int64_t made = made_at(place->directory_fd, place->name, &which);

	if (which == cleanup->before)
		return REFUSAL_UNTOLD;
	/* By a run that was killed before it wrote its PID. */
	if (place->fd != -1 && place->status.st_size == 0 &&
	    (place->status.st_mode & MADE_BY_RUN) != 0)
		return REFUSAL_NONE;
	if (cleanup->before == CLEANUP_UNKNOWN)
		return REFUSAL_UNKNOWN;
	/* The first write to a file of a container's image copies it: the old
	 * file has a new birth. */
	if (cleanup->before != 0 &&
	    fstatfs(place->directory_fd, &system) == 0 &&
	    system.f_type == OVERLAYFS)
		return REFUSAL_UNTOLD;
	return is_claimed(place->directory_fd, byte_of(place->name, 0),
	                  byte_of(place->name, made))
	           ? REFUSAL_CLAIMED
	           : REFUSAL_NONE;
}

/* Returns REFUSAL_NONE if what is at PLACE may be removed: then it is locked,
 * so that nobody takes it meanwhile. */
static enum refusal
judge_and_lock(const struct cleanup *cleanup, struct pidfile *place,
               const pid_t own[2], bool is_over)
{
	enum refusal why = open_pidfile(place);

	if (why == REFUSAL_NONE)
		why = pidfile_read(place);
	else if (why == REFUSAL_NO_FILE && S_ISDIR(place->status.st_mode))
		why = REFUSAL_NO_PID;
	else if (why != REFUSAL_ERRNO &&
	         judge_by_time(cleanup, place) == REFUSAL_UNTOLD)
		return REFUSAL_UNTOLD; /* it was there before */
	if (why != REFUSAL_NONE && why != REFUSAL_NO_PID)
		return why;
	/* Its owner lives: also of a text that only begins with a PID. */
	if (place->pid != own[0] && place->pid != own[1] && !place->is_marked &&
	    has_owner(place))
		return REFUSAL_UNTOLD;
	if (why == REFUSAL_NO_PID || place->pid == 0)
		why = is_over ? judge_by_time(cleanup, place) : REFUSAL_UNTOLD;
	/* ENOLCK: this file system has no locks, so nobody holds one. */
	if (why == REFUSAL_NONE && place->fd != -1 &&
	    (is_claimed(place->fd, 0, LAST_BYTE) ||
	     (flock(place->fd, LOCK_EX | LOCK_NB) == -1 &&
	      errno == EWOULDBLOCK)))
		return place->is_marked ? REFUSAL_UNTOLD : REFUSAL_HELD;
	return why == REFUSAL_NONE && !is_named(place) ? REFUSAL_UNTOLD : why;
}

enum refusal
cleanup_end(const struct cleanup *cleanup, const pid_t own[2], bool is_over)
{
	struct flock all_claims = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	/* First: of two runs that end at once, one must find no claim. */
	(void)fcntl(cleanup->claim_fd, F_OFD_SETLK, &all_claims);

	struct pidfile place = {
		/* For reading: else the claims there cannot be seen. */
		.directory_fd = path_open_directory(cleanup->path, O_RDONLY),
		.name = strrchr(cleanup->path, '/') + 1,
		.fd = -1,
	};
	enum refusal why = REFUSAL_ERRNO;

	if (place.directory_fd != -1)
		why = judge_and_lock(cleanup, &place, own, is_over);
	/* A killed run had found it blank: so it stays. */
	if (why == REFUSAL_NONE && place.was_blank &&
	    ftruncate(place.fd, 0) == 0)
		why = REFUSAL_UNTOLD;
	if (why == REFUSAL_NONE &&
	    unlinkat(place.directory_fd, place.name,
	             place.fd == -1 ? AT_REMOVEDIR : 0) == -1)
		why = REFUSAL_ERRNO;
	if (why == REFUSAL_CHANGING || /* a file server has removed it */
	    (why == REFUSAL_ERRNO && (errno == ENOENT || errno == ENOTDIR)))
		why = REFUSAL_UNTOLD;
	fds_close(place.fd);
	fds_close(place.directory_fd);
	return why;
}

const char *
refusal_words(enum refusal why)
{
	static const char *const words[] = {
		[REFUSAL_NO_PID] =
		    "it is not a lock file: its content is not a PID",
		[REFUSAL_NO_FILE] =
		    "it is a symbolic link, or not a regular file",
		[REFUSAL_ANOTHERS] = "it is another user's, or has a second "
		                     "name, in a directory open to others",
		[REFUSAL_HELD] = "it is locked by another process",
		[REFUSAL_CLAIMED] = "another run may have made it: its "
		                    "directory is locked",
		[REFUSAL_UNKNOWN] = "it names no process, and may have been "
		                    "there before",
	};

	return why == REFUSAL_ERRNO ? strerror(errno) : words[why];
}
