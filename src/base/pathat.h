#pragma once

#include <limits.h>
#include <stdbool.h>

struct fileinfo;

/*
 * A file by its name in a directory that is held open. What the rest of the
 * path means is looked up once: a process that later moves a directory away, or
 * puts a symbolic link into its place, does not change which file this is.
 */
struct pathat {
	const char *path; /* for messages */
	const char *name; /* the end of PATH: the file's name in the directory.
	                   * It has several parts if the directory of the file
	                   * was not there: see PATHAT_MAY_MISS */
	int directory_fd; /* of open(2) with O_PATH, or -1 */
};

/* What becomes of a directory that does not exist. */
enum pathat_way {
	PATHAT_MUST_EXIST, /* an error: ENOENT */
	PATHAT_NO_LINKS,   /* likewise; a symbolic link is one too: EXDEV */
	PATHAT_MAY_MISS,   /* the nearest directory above is held */
	PATHAT_MAKE,       /* it is made, with mode 0700 less the umask */
};

/*
 * Looks up the directory of PATH, which has to stay. A symbolic link on the way
 * to it is followed if it belongs to this user or to root; the file itself is
 * not looked at. Returns 0; or -1 with errno: ENOLINK where another user's link
 * is on the way, else as of open(2).
 */
int pathat_open(struct pathat *at, const char *path, enum pathat_way way);

/*
 * The same for a file that is opened: a symbolic link AT the name is followed
 * by the same rule, and AT becomes where it leads, in TEXT. Returns the flag
 * with which to open the file: O_NOFOLLOW; or 0 in /proc, where links lead to
 * files without a path, as /proc/self/fd/63 of ">(gzip)" does. Or -1 with
 * errno.
 */
int pathat_open_target(struct pathat *at, const char *path,
                       char text[PATH_MAX]);

/* Words for errno of pathat_open, as strerror(3). */
const char *pathat_error(int why);

/* Goes down to the directory of a file of PATHAT_MAY_MISS, and follows no link.
 * Puts into *FOUND the file there, whose directory the caller closes. Returns
 * 0; or -1 with errno, EXDEV at a symbolic link. */
int pathat_enter(const struct pathat *at, struct pathat *found);

/* Reads about the file; a symbolic link is not followed. Returns 0, or -1 with
 * errno of statx(2). */
int pathat_info(const struct pathat *at, struct fileinfo *file);

/* Looks whether files can be made in the directory. Returns 0, or -1 with errno
 * of access(2). */
int pathat_check_directory(const struct pathat *at);

/* Whether LEFT and RIGHT are the same name in the same directory, or names of
 * the same file. */
bool pathat_is_same(const struct pathat *left, const struct pathat *right);

/* Lets go of the directory. Keeps errno. */
void pathat_close(struct pathat *at);
