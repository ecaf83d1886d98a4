#pragma once

#include <limits.h>
#include <stdbool.h>

struct fileinfo;

/* A file, as a name in an open directory. The directory's path is resolved
 * once: AT stays in the same directory when another process moves the
 * directory, or replaces the directory by a symbolic link. */
struct pathat {
	const char *path; /* for messages */
	const char *name; /* end of PATH: the file's name in the directory. With
	                   * PATHAT_MAY_MISS, missing directories come before
	                   * the name */
	int directory_fd; /* opened with O_PATH, or -1 */
};

/* What to do when a directory of the path does not exist. */
enum pathat_way {
	PATHAT_MUST_EXIST, /* fail with ENOENT */
	PATHAT_NO_LINKS,   /* the same; fail with EXDEV at a symbolic link */
	PATHAT_MAY_MISS,   /* open the nearest ancestor that exists */
	PATHAT_MAKE,       /* make the directory, mode 0700 less the umask */
};

/* Opens the directory of PATH, which must outlive AT. Follows a symbolic link
 * to the directory if the link's owner is this user or root; does not look at
 * the file itself. Returns 0, with AT to be closed by pathat_close(); or -1
 * with errno of open(2), or ENOLINK at a link of another user. */
int pathat_open(struct pathat *at, const char *path, enum pathat_way way);

/*
 * Like pathat_open() with PATHAT_MUST_EXIST, for a file to be opened: if PATH
 * is a symbolic link, follows it by the same rule, and AT becomes its target,
 * with the path in TEXT. Returns the flag for open(2): O_NOFOLLOW; or 0 in
 * /proc, where a link can lead to a file without a path (/proc/self/fd/63 of
 * ">(gzip)"). Or -1 with errno of pathat_open(), or ELOOP.
 */
int pathat_open_target(struct pathat *at, const char *path,
                       char text[PATH_MAX]);

/* Like strerror(3), for WHY, an errno of pathat_open() or pathat_enter(). */
const char *pathat_error(int why);

/* Opens the directory of AT, of PATHAT_MAY_MISS, if by now it exists, without
 * following symbolic links. Stores the file in *FOUND, to be closed by
 * pathat_close(). Returns 0; or -1 with errno of open(2), EXDEV at a link. */
int pathat_enter(const struct pathat *at, struct pathat *found);

/* Reads the attributes of AT, without following a symbolic link. Returns 0, or
 * -1 with errno of statx(2). */
int pathat_info(const struct pathat *at, struct fileinfo *file);

/* Checks that this user can make files in the directory of AT. Returns 0, or -1
 * with errno of access(2). */
int pathat_check_directory(const struct pathat *at);

/* Whether LEFT and RIGHT are the same name in the same directory. */
bool pathat_is_same_name(const struct pathat *left, const struct pathat *right);

/* The same, or whether they are names of the same file. */
bool pathat_is_same(const struct pathat *left, const struct pathat *right);

/* Closes the directory of AT. Keeps errno. */
void pathat_close(struct pathat *at);
