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

/* Replaces REST, the name of a link in FD, by the link's target and AFTER, a
 * part of REST. Returns 0; or -1 with errno, ENOTDIR if it is no link. */
static int
follow(int fd, char rest[PATH_MAX], const char *after, int flags)
{
	/* Opened, so that owner and target are of one link. */
	const int link_fd = openat(fd, rest, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const size_t left = strlen(after);
	char target[PATH_MAX];
	struct stat link;
	ssize_t length = -1;

	if (link_fd == -1 || fstat(link_fd, &link) == -1)
		;
	else if (!S_ISLNK(link.st_mode))
		errno = ENOTDIR;
	else if ((flags & PATH_NO_LINKS) != 0)
		errno = EXDEV;
	else if (!is_trusted(link.st_uid))
		errno = ENOLINK;
	else
		length = readlinkat(link_fd, "", target, sizeof(target));
	fds_close(link_fd);
	if (length == -1)
		return -1;
	if ((size_t)length + 1 + left >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memmove(rest + length + 1, after, left + 1);
	memcpy(rest, target, (size_t)length);
	rest[length] = left > 0 ? '/' : '\0';
	return 0;
}

/* Walks from the directory FD, which it closes, along REST, until only the
 * file's name is left in REST. Returns as path_open(). */
static int
walk(int fd, char rest[PATH_MAX], int flags)
{
	char *slash;

	for (int links = 0; fd != -1 && (slash = strchr(rest, '/')) != NULL;) {
		const char *const after = slash + 1 + strspn(slash + 1, "/");

		*slash = '\0';
		if ((flags & PATH_MAKE) != 0)
			(void)mkdirat(fd, rest, S_IRWXU); /* or openat fails */

		const int next =
		    openat(fd, slash == rest ? "/" : rest, DIRECTORY);

		if (next != -1) {
			memmove(rest, after, strlen(after) + 1);
		} else if (errno == ENOENT && (flags & PATH_MAY_MISS) != 0) {
			*slash = '/';
			return fd;
		} else if (errno == ENOTDIR &&
		           follow(fd, rest, after, flags) == 0) {
			if (links++ < LINKS_MAX)
				continue;
			errno = ELOOP;
		}
		fds_close(fd);
		fd = next;
	}
	return fd;
}

int
path_open(const char *path, int flags, char name[PATH_MAX])
{
	size_t length = (size_t)snprintf(name, PATH_MAX, "%s", path);

	if (length >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	while (length > 1 && name[length - 1] == '/')
		name[--length] = '\0';
	return walk(open(".", DIRECTORY), name, flags);
}

int
path_open_file(const char *path, int flags, mode_t mode)
{
	char name[PATH_MAX];
	struct statfs system;
	int directory_fd = path_open(path, 0, name);
	int fd = -1;

	for (int links = 0; directory_fd != -1; links++) {
		/* In /proc, a link can lead to a file without a path, and only
		 * open(2) itself can follow: /proc/self/fd/63 of ">(gzip)". */
		const bool in_proc = fstatfs(directory_fd, &system) == 0 &&
		                     system.f_type == PROC;

		fd = openat(directory_fd, name,
		            in_proc ? flags : flags | O_NOFOLLOW, mode);
		if (fd != -1 || errno != ELOOP || links == LINKS_MAX ||
		    follow(directory_fd, name, "", 0) == -1)
			break;
		directory_fd = walk(directory_fd, name, 0);
	}
	fds_close(directory_fd);
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
