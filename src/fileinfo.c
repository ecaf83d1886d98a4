/* statx(2), and stat(2) where that is all there is. */
#include "fileinfo.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "text.h"

#define DONT_SYNC       0x4000 /* AT_STATX_DONT_SYNC */
#define BASIC_AND_BIRTH 0xfffU /* STATX_BASIC_STATS | STATX_BTIME */
#define HAS_BIRTH       0x800U /* STATX_BTIME */

/*
 * Where in struct statx what stands, since musl has no name for it before
 * 1.2.5: statx(2), and include/uapi/linux/stat.h in the kernel.
 */
enum {
	AT_MASK = 0,
	AT_OWNER = 20,
	AT_MODE = 28,
	AT_INODE = 32,
	AT_SIZE = 40,
	AT_BIRTH = 80,
	AT_MODIFICATION = 112,
	AT_DEVICE_MAJOR = 136,
	AT_DEVICE_MINOR = 140,
	STATUS_SIZE = 256,
};

static uint16_t
number_16(const unsigned char *at)
{
	uint16_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static uint32_t
number_32(const unsigned char *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static uint64_t
number_64(const unsigned char *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static int64_t
time_from(int64_t seconds, int64_t nanoseconds)
{
	/* What is beyond can be set by utimensat(2), and means nothing. */
	if (seconds >= INT64_MAX / SECOND)
		return INT64_MAX;
	return seconds < 0 ? 0 : seconds * SECOND + nanoseconds;
}

/* Of seconds, and nanoseconds behind them. */
static int64_t
time_at(const unsigned char *at)
{
	return time_from((int64_t)number_64(at),
	                 number_32(at + sizeof(int64_t)));
}

static struct fileinfo
from_statx(const unsigned char *status)
{
	return (struct fileinfo){
		.mode = number_16(status + AT_MODE),
		.owner = number_32(status + AT_OWNER),
		.device = makedev(number_32(status + AT_DEVICE_MAJOR),
		                  number_32(status + AT_DEVICE_MINOR)),
		.inode = number_64(status + AT_INODE),
		.size = number_64(status + AT_SIZE),
		.birth = (number_32(status + AT_MASK) & HAS_BIRTH) == 0
		             ? 0
		             : time_at(status + AT_BIRTH),
		.modified = time_at(status + AT_MODIFICATION),
	};
}

static struct fileinfo
from_stat(const struct stat *status)
{
	return (struct fileinfo){
		.mode = status->st_mode,
		.owner = status->st_uid,
		.device = status->st_dev,
		.inode = status->st_ino,
		.size = (uint64_t)status->st_size,
		.modified =
		    time_from(status->st_mtim.tv_sec, status->st_mtim.tv_nsec),
	};
}

static int
read_file(int fd, const char *path, int flags, struct fileinfo *file)
{
	unsigned char status[STATUS_SIZE];
	struct stat old;

	if (syscall(SYS_statx, fd, path, flags, BASIC_AND_BIRTH, status) == 0) {
		*file = from_statx(status);
		return 0;
	}
	/* A filter, or an emulator, that has never heard of it. */
	if (errno != ENOSYS && errno != EPERM)
		return -1;
	if (fstatat(fd, path, &old, flags & ~DONT_SYNC) == -1)
		return -1;
	*file = from_stat(&old);
	return 0;
}

int
fileinfo_of(int fd, struct fileinfo *file)
{
	return read_file(fd, "", AT_EMPTY_PATH, file);
}

int
fileinfo_guess(int fd, struct fileinfo *file)
{
	return read_file(fd, "", AT_EMPTY_PATH | DONT_SYNC, file);
}

int
fileinfo_at(const char *path, struct fileinfo *file)
{
	return read_file(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, file);
}

const char *
fileinfo_directory_of(const char *path, char directory[PATH_MAX])
{
	const char *const slash = strrchr(path, '/');
	const size_t length = slash == NULL ? 0 : (size_t)(slash - path);

	(void)text_format(directory, PATH_MAX, "%.*s", (int)length, path);
	return length == 0 ? "/" : directory;
}
