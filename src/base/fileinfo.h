#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* Which file a path named at some moment; all 0: none. The number of an inode
 * may be given away again at once, so the moment of the file's birth is part of
 * it, where the file system knows that. */
struct fileid {
	uint64_t device;
	uint64_t inode;
	int64_t birth; /* 0 where the file system does not know it */
};

/* What the kernel knows of a file. Times are nanoseconds since the epoch. */
struct fileinfo {
	struct fileid id;
	mode_t mode;
	uid_t owner;
	uint64_t size;
	int64_t modified;
	int64_t changed; /* unlike the others, nobody can set this one back */
};

bool fileid_is_same(const struct fileid *a, const struct fileid *b);

/* Reads about the open file FD. Returns 0, or -1 with errno of statx(2). */
int fileinfo_of(int fd, struct fileinfo *file);

/* The same, as this machine knows it now: a network file system that hangs is
 * not asked. */
int fileinfo_guess(int fd, struct fileinfo *file);

/* Reads about the file NAME in a directory, or the symbolic link. Returns as
 * fileinfo_of(). */
int fileinfo_at(int directory_fd, const char *name, struct fileinfo *file);

/*
 * Makes an absolute path of PATH, which is relative to DIRECTORY (NULL: not
 * known) unless it begins with '/'. Takes out "//", "/./" and a '/' at the end;
 * ".." and symbolic links stay. Returns a string that stays, or NULL with
 * errno: ENOMEM, or as it was, where DIRECTORY is needed and not known.
 */
const char *fileinfo_absolute_path(const char *directory, const char *path);
