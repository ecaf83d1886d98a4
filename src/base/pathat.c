/* Files, as names in open directories. */
#include "base/pathat.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/strbuf.h"

#define DIRECTORY (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define LINKS_MAX 40     /* as in the kernel: path_resolution(7) */
#define PROC      0x9fa0 /* PROC_SUPER_MAGIC, statfs(2) */

/* The state of a path resolution. */
struct walk {
	int fd; /* the directory reached so far */
	enum pathat_way way;
	int links;   /* number of links followed */
	char *rest;  /* the path still to resolve, in text */
	size_t tail; /* length of the end of rest that is the caller's path; a
	              * link's target comes before */
	char text[PATH_MAX];
};

/* Makes FD the directory of WALK, unless FD is -1. Returns 0 or -1. */
static int
enter(struct walk *walk, int fd)
{
	if (fd == -1)
		return -1;
	fds_close(walk->fd);
	walk->fd = fd;
	return 0;
}

/* Whether links of USER are followed: of this user and of root. In a user
 * namespace that does not map root, the owner of "/" shows which number stands
 * for root: user_namespaces(7), overflow UID. */
static bool
is_trusted(uid_t user)
{
	struct stat root;

	return user == geteuid() || user == 0 ||
	       (stat("/", &root) == 0 && user == root.st_uid);
}

/* Reads the target of the symbolic link NAME. Returns its length; or -1 with
 * errno: ENOTDIR: no link, EXDEV or ENOLINK: a link not to be followed. */
static ssize_t
read_link(int directory_fd, const char *name, enum pathat_way way,
          char target[PATH_MAX])
{
	const int fd =
	    openat(directory_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct fileinfo link;
	ssize_t length = -1;

	if (fd == -1 || fileinfo_of(fd, &link) == -1)
		;
	else if (!S_ISLNK(link.mode))
		errno = ENOTDIR;
	else if (way == PATHAT_NO_LINKS)
		errno = EXDEV;
	else if (!is_trusted(link.owner))
		errno = ENOLINK;
	else
		length = readlinkat(fd, "", target, PATH_MAX);
	fds_close(fd);
	return length;
}

/* Puts the target of the link NAME before the rest. Returns 0 or -1. */
static int
follow(struct walk *walk, const char *name)
{
	char target[PATH_MAX];
	const ssize_t length = read_link(walk->fd, name, walk->way, target);
	const size_t left = strlen(walk->rest);

	if (length == -1)
		return -1;
	if ((size_t)length + 1 + left >= PATH_MAX ||
	    walk->links++ == LINKS_MAX) {
		errno = ELOOP;
		return -1;
	}
	if (left < walk->tail)
		walk->tail = left;
	memmove(walk->text + length + 1, walk->rest, left + 1);
	memcpy(walk->text, target, (size_t)length);
	walk->text[length] = '/';
	walk->rest = walk->text;
	return *target == '/' ? enter(walk, open("/", DIRECTORY)) : 0;
}

/* Enters the directory NAME, the component before the rest. Returns 0, or -1
 * with errno. */
static int
step(struct walk *walk, const char *name)
{
	const int flags = DIRECTORY | O_NOFOLLOW;

	if (enter(walk, openat(walk->fd, name, flags)) == 0)
		return 0;
	if (errno == ENOTDIR)
		return follow(walk, name);
	/* Makes no directory in the target of a link. */
	if (errno != ENOENT || walk->way != PATHAT_MAKE ||
	    strlen(walk->rest) >= walk->tail ||
	    (mkdirat(walk->fd, name, S_IRWXU) == -1 && errno != EEXIST))
		return -1;
	return enter(walk, openat(walk->fd, name, flags));
}

/* Resolves NAME, the end of AT's path, from the directory FD, and closes FD.
 * Returns like pathat_open(). */
static int
walk_from(int fd, const char *name, enum pathat_way way, struct pathat *at)
{
	struct walk walk;
	const size_t length = strlen(name);
	char *slash;

	at->directory_fd = -1;
	if (fd == -1 || length == 0 || length >= PATH_MAX) {
		errno = fd == -1 ? errno : length == 0 ? ENOENT : ENAMETOOLONG;
		fds_close(fd);
		return -1;
	}
	walk.fd = fd;
	walk.way = way;
	walk.links = 0;
	walk.rest = memcpy(walk.text, name, length + 1);
	walk.tail = length + 1;
	while (walk.rest += strspn(walk.rest, "/"),
	       (slash = strchr(walk.rest, '/')) != NULL) {
		char *const part = walk.rest;

		*slash = '\0';
		walk.rest = slash + 1;
		if (step(&walk, part) == 0)
			continue;
		if (errno != ENOENT || way != PATHAT_MAY_MISS ||
		    strlen(walk.rest) >= walk.tail) {
			fds_close(walk.fd);
			return -1;
		}
		*slash = '/';
		walk.rest = part;
		break;
	}
	at->name = name + length - strlen(walk.rest);
	at->directory_fd = walk.fd;
	return 0;
}

int
pathat_open(struct pathat *at, const char *path, enum pathat_way way)
{
	at->path = path;
	return walk_from(open(*path == '/' ? "/" : ".", DIRECTORY), path, way,
	                 at);
}

int
pathat_open_target(struct pathat *at, const char *path, char text[PATH_MAX])
{
	char target[PATH_MAX];
	char line[PATH_MAX];
	struct statfs system;

	for (int i = 0; i <= LINKS_MAX; i++) {
		if (pathat_open(at, path, PATHAT_MUST_EXIST) == -1)
			return -1;
		if (fstatfs(at->directory_fd, &system) == 0 &&
		    system.f_type == PROC)
			return 0;

		const ssize_t length = read_link(at->directory_fd, at->name,
		                                 PATHAT_MUST_EXIST, target);

		if (length == -1 && (errno == ENOTDIR || errno == ENOENT))
			return O_NOFOLLOW;
		pathat_close(at);
		if (length == -1)
			return -1;
		/* By way of LINE: from the second link on, PATH is TEXT. */
		(void)strbuf_format(line, sizeof(line), "%.*s%.*s",
		                    *target == '/' ? 0 : (int)(at->name - path),
		                    path, (int)length, target);
		path = memcpy(text, line, sizeof(line));
	}
	errno = ELOOP;
	return -1;
}

int
pathat_enter(const struct pathat *at, struct pathat *found)
{
	found->path = at->path;
	return walk_from(openat(at->directory_fd, ".", DIRECTORY), at->name,
	                 PATHAT_NO_LINKS, found);
}

const char *
pathat_error(int why)
{
	if (why == ENOLINK)
		return "another user's symbolic link leads to it";
	if (why == EXDEV)
		return "a new symbolic link leads to it";
	return strerror(why);
}

int
pathat_info(const struct pathat *at, struct fileinfo *file)
{
	return fileinfo_at(at->directory_fd, at->name, file);
}

/* By system call: musl's faccessat(3) links code that forks (AT_EACCESS). */
int
pathat_check_directory(const struct pathat *at)
{
	return (int)syscall(SYS_faccessat, at->directory_fd, ".", W_OK | X_OK);
}

bool
pathat_is_same_name(const struct pathat *left, const struct pathat *right)
{
	struct fileinfo a;
	struct fileinfo b;

	return strcmp(left->name, right->name) == 0 &&
	       fileinfo_of(left->directory_fd, &a) == 0 &&
	       fileinfo_of(right->directory_fd, &b) == 0 &&
	       fileid_is_same(&a.id, &b.id);
}

bool
pathat_is_same(const struct pathat *left, const struct pathat *right)
{
	struct fileinfo a;
	struct fileinfo b;

	if (pathat_info(left, &a) == -1 || pathat_info(right, &b) == -1)
		return pathat_is_same_name(left, right);
	return fileid_is_same(&a.id, &b.id);
}

void
pathat_close(struct pathat *at)
{
	fds_close(at->directory_fd);
	at->directory_fd = -1;
}
