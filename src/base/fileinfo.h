#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* The identity of a file; all 0: no file. A file system may reuse an inode
 * number at once, so the birth time is part of the identity where the file
 * system records birth times. */
struct fileid {
	uint64_t device;
	uint64_t inode;
	int64_t birth; /* 0: not recorded */
};

/* Attributes of a file. Times are nanoseconds since the epoch. */
struct fileinfo {
	struct fileid id;
	mode_t mode;
	uid_t owner;
	uint64_t size;
	int64_t modified;
	int64_t changed; /* ctime, which utimensat(2) cannot set */
};

bool fileid_is_same(const struct fileid *a, const struct fileid *b);

/* Reads the attributes of FD. Returns 0, or -1 with errno of statx(2). */
int fileinfo_of(int fd, struct fileinfo *file);

/* The same from the kernel's cache (AT_STATX_DONT_SYNC): does not wait for a
 * network file system that hangs. */
int fileinfo_guess(int fd, struct fileinfo *file);

/* Reads the attributes of NAME in the directory DIRECTORY_FD, without following
 * a symbolic link. Returns like fileinfo_of(). */
int fileinfo_at(int directory_fd, const char *name, struct fileinfo *file);

/* Makes PATH absolute; a relative PATH is relative to DIRECTORY (NULL: not
 * known). Removes "//", "/." and a trailing '/'; keeps ".." and symbolic links.
 * Returns a string that is never freed; or NULL, with errno ENOMEM, or with
 * errno unchanged if PATH is relative and DIRECTORY is NULL. */
const char *fileinfo_absolute_path(const char *directory, const char *path);
