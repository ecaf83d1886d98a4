/* Removes locks that COMMAND has made and not removed. */
#include "lock/cleanup.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/path.h"
#include "lock/pidfile.h"

/*
 * A claim is a read lock on one byte of the file's directory, whose offset is a
 * hash of the name, then the time in milliseconds when the run began. So "does
 * a run live that named this file before it was made?" is one question: is a
 * byte locked from the name's first to that of the file's birth? The kernel
 * drops a claim with the last process that has the directory open: fcntl(2),
 * "Open file description locks". Times are those of the coarse clock, as the
 * kernel's for files are: current_time().
 */
#define TIME_BITS 42 /* until 2109; with NAME_BITS an off_t, which has 63 */
#define NAME_BITS 20

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* The part of struct statx in include/uapi/linux/stat.h that is wanted: musl
 * has none before 1.2.5. */
struct birth {
	uint32_t mask;
	unsigned char before[76];
	int64_t seconds;
	uint32_t nanoseconds;
	unsigned char behind[164];
};

#define HAS_BIRTH 0x800U /* STATX_BTIME */

_Static_assert(sizeof(struct birth) == 256, "statx(2) writes 256 bytes");

/* When NAME was made, as in struct cleanup. */
static int64_t
birth_of(int directory_fd, const char *name)
{
	struct birth birth;

	if (syscall(SYS_statx, directory_fd, name, AT_SYMLINK_NOFOLLOW,
	            HAS_BIRTH, &birth) == -1)
		return errno == ENOENT ? 0 : CLEANUP_UNKNOWN;
	if ((birth.mask & HAS_BIRTH) == 0 || birth.seconds <= 0 ||
	    birth.seconds >= CLEANUP_UNKNOWN / SECOND)
		return CLEANUP_UNKNOWN;
	return birth.seconds * SECOND + birth.nanoseconds;
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

void
cleanup_begin(struct cleanup *cleanup)
{
	char name[PATH_MAX];
	struct timespec now;
	const int path_fd = path_open(cleanup->path, PATH_NO_LINKS, name);

	/* For locks, the directory has to be open for reading. */
	cleanup->claim_fd =
	    path_fd == -1 ? -1 : openat(path_fd, ".", DIRECTORY);
	fds_close(path_fd);
	cleanup->before = CLEANUP_UNKNOWN;
	if (cleanup->claim_fd == -1)
		return;
	cleanup->before = birth_of(cleanup->claim_fd, name);
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);

	int64_t start = now.tv_sec * SECOND + now.tv_nsec;

	/* What was there is not claimed, even if it was made just now. */
	if (cleanup->before != CLEANUP_UNKNOWN && cleanup->before >= start)
		start = cleanup->before + MILLISECOND;

	struct flock claim = {
		.l_type = F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = byte_of(name, start),
		.l_len = 1,
	};

	/* Where a file system has no such locks, each run acts as if alone. */
	(void)fcntl(cleanup->claim_fd, F_OFD_SETLK, &claim);
}

/* Opens the file in PLACE, or leaves place->fd at -1 if it is a directory.
 * Returns 0, or -1 with errno. */
static int
find(struct pidfile *place)
{
	if (place->directory_fd == -1 ||
	    fstatat(place->directory_fd, place->name, &place->status,
	            AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	if (!S_ISDIR(place->status.st_mode))
		return pidfile_open(place);
	errno = EUSERS;
	return pidfile_is_trusted(place->directory_fd, &place->status) ? 0 : -1;
}

/* Whether a living run that began before BIRTH claims the file. True also if
 * that cannot be known. */
static bool
is_claimed(const struct pidfile *place, int64_t birth)
{
	const int fd = openat(place->directory_fd, ".", DIRECTORY);
	const off_t first = byte_of(place->name, 0);
	struct flock claims = {
		.l_type = F_WRLCK, /* for the question only */
		.l_whence = SEEK_SET,
		.l_start = first,
		.l_len = byte_of(place->name, birth) - first + 1,
	};
	const bool is_free =
	    fd != -1 &&
	    (fcntl(fd, F_OFD_GETLK, &claims) == -1 || claims.l_type == F_UNLCK);

	fds_close(fd);
	return !is_free;
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
		return pid == own[0] || pid == own[1] ||
		       !pidfile_has_owner(place, pid);
	if (!is_over)
		return 0;

	/* Without a PID: if it was made in a run that is over, this or an older
	 * one. */
	const int64_t birth = birth_of(place->directory_fd, place->name);

	errno = ENODATA;
	if (cleanup->before == CLEANUP_UNKNOWN)
		return -1;
	if (birth == cleanup->before)
		return 0;
	errno = EBUSY;
	return is_claimed(place, birth) ? -1 : 1;
}

int
cleanup_end(const struct cleanup *cleanup, const pid_t own[2], bool is_over)
{
	struct flock claim = { .l_type = F_UNLCK, .l_whence = SEEK_SET };
	char name[PATH_MAX];

	/* First: of two runs that end at once, the later must find no claim of
	 * the other. */
	(void)fcntl(cleanup->claim_fd, F_OFD_SETLK, &claim);

	struct pidfile place = {
		.directory_fd = path_open(cleanup->path, PATH_NO_LINKS, name),
		.name = name,
		.fd = -1,
	};
	int result = find(&place);

	if (result == 0)
		result = is_stale(cleanup, &place, own, is_over);
	/* Other errors (ENOLCK) mean that nobody has a lock. */
	if (result == 1 && place.fd != -1 &&
	    flock(place.fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
		result = -1;
	if (result == 1) /* still, now that it is locked */
		result = is_stale(cleanup, &place, own, is_over);
	if (result == 1 && !pidfile_is_named(&place))
		result = 0;
	if (result == 1 && unlinkat(place.directory_fd, name,
	                            place.fd == -1 ? AT_REMOVEDIR : 0) == -1)
		result = -1;
	if (result == -1 && (errno == ENOENT || errno == ENOTDIR))
		result = 0;
	fds_close(place.fd);
	fds_close(place.directory_fd);
	return result;
}
