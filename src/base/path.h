#pragma once

#include <limits.h>
#include <sys/types.h>

/*
 * Paths, walked one name at a time: a symbolic link on the way is followed only
 * if its owner is this user or root. Otherwise any user could lead a file that
 * root names in /tmp to a place of their choice. (The kernel does the same only
 * where fs.protected_symlinks is 1, proc(5), and only in sticky directories.)
 *
 * What must still mean the same place later is kept as path_resolve() returns
 * it, and opened again with PATH_NO_LINKS: a link that has come into the path
 * since is refused, a directory that was removed and made anew is found.
 */
enum {
	PATH_NO_LINKS = 1, /* fail with EXDEV at a symbolic link */
	PATH_MAY_MISS = 2, /* stop before the first directory that is missing */
	PATH_MAKE = 4,     /* make missing directories, mode 0700 */
};

/* Opens the directory of PATH with O_PATH. Stores the rest of PATH in NAME: the
 * file's name there, which is not looked at; with PATH_MAY_MISS perhaps names
 * of missing directories before it. Slashes at the end of PATH do not count.
 * Returns a descriptor, or -1 with errno of open(2), EXDEV at a link, or
 * ENOLINK at a link of another user. */
int path_open(const char *path, int flags, char name[PATH_MAX]);

/* Opens the file PATH as open(2) does, FLAGS with O_CREAT included, and follows
 * links by the rule above, at the end of PATH too. Returns as path_open(). */
int path_open_file(const char *path, int flags, mode_t mode);

/* Returns PATH as an absolute path without links, "." or ".." in the part that
 * exists, in memory that is never freed. FLAGS and errors are those of
 * path_open(); NULL is returned then. */
const char *path_resolve(const char *path, int flags);

/* Like strerror(3), for an errno of these functions. */
const char *path_error(int why);
