#ifndef WDRUN_FILEINFO_H
#define WDRUN_FILEINFO_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* What there is to know of a file. All time in nanoseconds since the epoch. */
struct fileinfo {
	mode_t mode;
	uid_t owner;
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t birth; /* 0 where the file system does not know */
	int64_t modified;
};

/* Reads what FD is. Returns 0, or -1 with errno of statx(2). */
int fileinfo_of(int fd, struct fileinfo *file);

/* The same, as it is known here and now: a file system that hangs is not
 * asked. */
int fileinfo_guess(int fd, struct fileinfo *file);

/* Reads what PATH is; a symbolic link is not followed. Returns as above. */
int fileinfo_at(const char *path, struct fileinfo *file);

/* The directory that PATH, which is absolute, is in. Returns "/" or DIRECTORY.
 */
const char *fileinfo_directory_of(const char *path, char directory[PATH_MAX]);

#endif
