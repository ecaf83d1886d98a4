/* Attributes of files, and absolute paths. */
#include "base/fileinfo.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/strbuf.h"

#define DONT_SYNC       0x4000 /* AT_STATX_DONT_SYNC */
#define BASIC_AND_BIRTH 0xfffU /* STATX_BASIC_STATS | STATX_BTIME */
#define HAS_BIRTH       0x800U /* STATX_BTIME */

/* struct statx of include/uapi/linux/stat.h; musl has none before 1.2.5. */
struct kernel_time {
	int64_t seconds;
	uint32_t nanoseconds;
	/* cppcheck-suppress unusedStructMember ; the layout is the kernel's */
	int32_t reserved;
};

struct kernel_status {
	uint32_t mask;
	uint32_t block_size;
	uint64_t attributes;
	uint32_t links;
	uint32_t owner;
	uint32_t group;
	uint16_t mode;
	uint16_t reserved;
	uint64_t inode;
	uint64_t size;
	uint64_t blocks;
	uint64_t attributes_mask;
	struct kernel_time access;
	struct kernel_time birth;
	struct kernel_time change;
	struct kernel_time modification;
	uint32_t special_major; /* of a device file itself */
	uint32_t special_minor;
	uint32_t device_major; /* of the device that holds the file */
	uint32_t device_minor;
	uint64_t more[14];
};

_Static_assert(sizeof(struct kernel_status) == 256,
               "statx(2) writes 256 bytes");

bool
fileid_is_same(const struct fileid *a, const struct fileid *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->birth == b->birth;
}

static int64_t
time_from(const struct kernel_time *time)
{
	/* utimensat(2) can set a time that does not fit into 64 bits. */
	if (time->seconds >= INT64_MAX / SECOND)
		return INT64_MAX;
	return time->seconds < 0 ? 0
	                         : time->seconds * SECOND + time->nanoseconds;
}

/* Replaces statx(2), which failed: a filter or an emulator may not know it. */
static int
read_old(int fd, const char *path, int flags, struct kernel_status *status)
{
	struct stat old;

	if ((errno != ENOSYS && errno != EPERM) ||
	    fstatat(fd, path, &old, flags & ~DONT_SYNC) == -1)
		return -1;
	*status = (struct kernel_status){
		.mode = (uint16_t)old.st_mode,
		.owner = old.st_uid,
		.inode = old.st_ino,
		.size = (uint64_t)old.st_size,
		.modification = { .seconds = old.st_mtim.tv_sec,
		                  .nanoseconds =
		                      (uint32_t)old.st_mtim.tv_nsec },
		.change = { .seconds = old.st_ctim.tv_sec,
		            .nanoseconds = (uint32_t)old.st_ctim.tv_nsec },
		.device_major = major(old.st_dev),
		.device_minor = minor(old.st_dev),
	};
	return 0;
}

static int
read_file(int fd, const char *path, int flags, struct fileinfo *file)
{
	struct kernel_status status;

	if (syscall(SYS_statx, fd, path, flags, BASIC_AND_BIRTH, &status) ==
	        -1 &&
	    read_old(fd, path, flags, &status) == -1)
		return -1;

	const bool has_birth = (status.mask & HAS_BIRTH) != 0;

	*file = (struct fileinfo){
		.id = { makedev(status.device_major, status.device_minor),
		        status.inode,
		        has_birth ? time_from(&status.birth) : 0 },
		.mode = status.mode,
		.owner = status.owner,
		.size = status.size,
		.modified = time_from(&status.modification),
		.changed = time_from(&status.change),
	};
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
fileinfo_at(int directory_fd, const char *name, struct fileinfo *file)
{
	return read_file(directory_fd, name, AT_SYMLINK_NOFOLLOW, file);
}

/* Removes "//", "/." and a trailing '/' from the absolute PATH. With a trailing
 * '/', the name of a lock would be empty. */
static void
simplify(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from++) {
		if (from[0] == '/' && (from[1] == '/' || from[1] == '\0'))
			continue;
		if (from[0] == '/' && from[1] == '.' &&
		    (from[2] == '/' || from[2] == '\0')) {
			from++;
			continue;
		}
		*to++ = *from;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

const char *
fileinfo_absolute_path(const char *directory, const char *path)
{
	const bool is_absolute = *path == '/';
	struct strbuf line = { .grows = true };

	if (!is_absolute && directory == NULL)
		return NULL;
	strbuf_addf(&line, "%s%s%s", is_absolute ? "" : directory,
	            is_absolute ? "" : "/", path);
	if (line.text != NULL)
		simplify(line.text);
	return line.text;
}
