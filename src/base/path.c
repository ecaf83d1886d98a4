/* Paths that lead through no symbolic link of another user. */
#include "base/path.h"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"

#define DIRECTORY    (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define LINKS_MAX    40     /* as in the kernel: path_resolution(7) */
#define PROC         0x9fa0 /* PROC_SUPER_MAGIC, statfs(2) */
#define FD_PATH_SIZE 32

struct walk {
	int fd;              /* the directory reached so far, or -1 */
	int links;           /* followed so far */
	size_t own;          /* length of the end of TEXT that is of the
	                      * caller's path, and not of a link's target */
	char *rest;          /* in TEXT: what is still to be walked */
	char text[PATH_MAX]; /* the path, or what a link has made of it */
};

/* Makes FD the directory of WALK. Returns 0; or -1, keeping errno, if FD is
 * -1. */
static int
enter(struct walk *walk, int fd)
{
	if (fd == -1)
		return -1;
	fds_close(walk->fd);
	walk->fd = fd;
	return 0;
}

/* Whether links of USER are followed. In a user namespace that does not map
 * root, as in many sandboxes, the owner of "/" has the number that stands for
 * root: user_namespaces(7), overflow UID. */
static bool
is_trusted(uid_t user)
{
	struct stat root;

	return user == geteuid() || user == 0 ||
	       (stat("/", &root) == 0 && user == root.st_uid);
}

/* Has WALK go on with the target of the link NAME, and then with AFTER, both in
 * walk->text. Returns 0; or -1 with errno, ENOTDIR if NAME is no link. */
static int
follow(struct walk *walk, const char *name, const char *after, int flags)
{
	/* Opened, so that owner and target are of one link. */
	const int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const size_t left = strlen(after);
	char target[PATH_MAX];
	struct stat link;
	ssize_t length = -1;

	if (fd == -1 || fstat(fd, &link) == -1)
		;
	else if (!S_ISLNK(link.st_mode))
		errno = ENOTDIR;
	else if ((flags & PATH_NO_LINKS) != 0)
		errno = EXDEV;
	else if (!is_trusted(link.st_uid))
		errno = ENOLINK;
	else if (walk->links++ == LINKS_MAX)
		errno = ELOOP;
	else
		length = readlinkat(fd, "", target, sizeof(target));
	fds_close(fd);
	if (length == -1)
		return -1;
	if ((size_t)length + 1 + left >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (left < walk->own)
		walk->own = left;
	memmove(walk->text + length + 1, after, left + 1);
	memcpy(walk->text, target, (size_t)length);
	walk->text[length] = left > 0 ? '/' : '\0';
	walk->rest = walk->text;
	return *target == '/' ? enter(walk, open("/", DIRECTORY)) : 0;
}

/* Enters the directory that walk->rest names first, before SLASH. Returns 0, or
 * -1 with errno and walk->rest as it was. */
static int
step(struct walk *walk, char *slash, int flags)
{
	const char *const name = walk->rest;

	*slash = '\0';
	if ((flags & PATH_MAKE) != 0 && strlen(slash + 1) < walk->own)
		(void)mkdirat(walk->fd, name, S_IRWXU); /* else openat fails */
	if (enter(walk, openat(walk->fd, name, DIRECTORY)) == 0) {
		walk->rest = slash + 1;
		return 0;
	}
	if (errno == ENOTDIR && follow(walk, name, slash + 1, flags) == 0)
		return 0;
	*slash = '/';
	return -1;
}

/* Walks until only the file's name is left. Returns 0, or -1 with errno. */
static int
walk_on(struct walk *walk, int flags)
{
	for (;;) {
		walk->rest += strspn(walk->rest, "/");

		char *const slash = strchr(walk->rest, '/');

		if (slash == NULL)
			return 0;
		if (step(walk, slash, flags) == -1)
			return errno == ENOENT && (flags & PATH_MAY_MISS) != 0
			           ? 0
			           : -1;
	}
}

/* Begins a walk, and walks. walk->fd has to be closed in any case. */
static int
walk_to(struct walk *walk, const char *path, int flags)
{
	size_t length = strlen(path);

	walk->fd = -1;
	walk->links = 0;
	walk->own = PATH_MAX;
	walk->rest = walk->text;
	if (length == 0 || length >= PATH_MAX) {
		errno = length == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	while (length > 0 && path[length - 1] == '/')
		length--;
	memcpy(walk->text, path, length);
	walk->text[length] = '\0';
	if (enter(walk, open(*path == '/' ? "/" : ".", DIRECTORY)) == -1)
		return -1;
	return walk_on(walk, flags);
}

int
path_open(const char *path, int flags, char name[PATH_MAX])
{
	struct walk walk;

	if (walk_to(&walk, path, flags) == -1) {
		fds_close(walk.fd);
		return -1;
	}
	memcpy(name, walk.rest, strlen(walk.rest) + 1);
	return walk.fd;
}

/* Whether FD is in /proc, where a link can lead to a file without a path, and
 * only open(2) itself can follow: /proc/self/fd/63 of ">(gzip)". */
static bool
is_in_proc(int fd)
{
	struct statfs system;

	return fstatfs(fd, &system) == 0 && system.f_type == PROC;
}

int
path_open_file(const char *path, int flags, mode_t mode)
{
	struct walk walk;
	int result = walk_to(&walk, path, 0);
	int fd = -1;

	while (result == 0) {
		const int no_link = is_in_proc(walk.fd) ? 0 : O_NOFOLLOW;

		fd = openat(walk.fd, walk.rest, flags | no_link | O_CLOEXEC,
		            mode);
		if (fd != -1 || errno != ELOOP || no_link == 0)
			break;
		result = follow(&walk, walk.rest, "", 0);
		if (result == 0)
			result = walk_on(&walk, 0);
	}
	fds_close(walk.fd);
	return fd;
}

const char *
path_resolve(const char *path, int flags)
{
	char name[PATH_MAX];
	char link[FD_PATH_SIZE];
	char directory[PATH_MAX];
	struct stat file;
	char *resolved = NULL;
	const int fd = path_open(path, flags, name);

	if (fd == -1)
		return NULL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	const ssize_t length = readlink(link, directory, sizeof(directory));

	/* A directory that was removed still has a path, "/gone (deleted)". */
	if (length > 0 && fstat(fd, &file) == 0 && file.st_nlink == 0)
		errno = ENOENT;
	else if (length <= 0) /* no /proc: then links may be left in it */
		resolved = *path == '/' ? strdup(path) : NULL;
	else if (asprintf(&resolved, "%.*s/%s", length > 1 ? (int)length : 0,
	                  directory, name) == -1)
		resolved = NULL;
	fds_close(fd);
	return resolved;
}

const char *
path_error(int why)
{
	if (why == ENOLINK)
		return "another user's symbolic link leads to it";
	if (why == EXDEV)
		return "a new symbolic link leads to it";
	return strerror(why);
}
