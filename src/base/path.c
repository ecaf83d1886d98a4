/* Paths that mean the same place later. */
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"
#include "base/kernel.h"

/* The kernel refuses what is too long, so nothing may be cut off before. */
#define BUFFER_SIZE (PATH_MAX + 2)

#define RESOLVE_NO_SYMLINKS 0x04 /* of openat2(2) */

const char *
path_resolve(const char *path)
{
	char text[BUFFER_SIZE];
	char directory[PATH_MAX];
	char *resolved = NULL;
	size_t end = strlen(path);
	int fd;

	while (end > 1 && path[end - 1] == '/')
		end--;

	size_t rest = end; /* begins behind the last directory that exists */

	/* Not realpath(3), which reads the links itself: the kernel refuses to
	 * follow some of other users (fs.protected_symlinks, proc(5)). */
	do {
		while (rest > 0 && path[rest - 1] != '/')
			rest--;
		(void)snprintf(text, sizeof(text), "%.*s", (int)rest, path);
		fd = open(rest == 0 ? "." : text,
		          O_PATH | O_DIRECTORY | O_CLOEXEC);
	} while (fd == -1 && errno == ENOENT && rest-- > 0);
	if (fd == -1)
		return NULL;
	(void)snprintf(text, sizeof(text), "/proc/self/fd/%d", fd);

	const ssize_t length = readlink(text, directory, sizeof(directory));

	if (length == -1) /* no /proc: then links may be left in it */
		resolved = *path == '/' ? strndup(path, end) : NULL;
	else if (asprintf(&resolved, "%.*s/%.*s", length > 1 ? (int)length : 0,
	                  directory, (int)(end - rest), path + rest) == -1)
		resolved = NULL;
	fds_close(fd);
	return resolved;
}

int
path_open_directory(const char *path, int flags)
{
	/* struct open_how, which musl-gcc lacks: flags, mode, resolve. */
	const uint64_t how[] = { (uint64_t)(flags | O_DIRECTORY | O_CLOEXEC), 0,
		                 RESOLVE_NO_SYMLINKS };
	char directory[BUFFER_SIZE];

	(void)snprintf(directory, sizeof(directory), "%.*s/",
	               (int)(strrchr(path, '/') - path), path);

	const int fd =
	    (int)syscall(CALL_OPENAT2, AT_FDCWD, directory, how, sizeof(how));

	/* Sandboxes without openat2(2) (systemd's RestrictSUIDSGID=, gVisor
	 * until 2026; EPERM: old containers): links are followed then. */
	return fd == -1 && (errno == ENOSYS || errno == EPERM)
	           ? open(directory, (int)how[0])
	           : fd;
}
