/* Writing a file so that nobody sees a part of it. */
#include "wholefile.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "text.h"

#define FD_PATH_SIZE 32

/* Not fsync(2): of what a crash of the machine loses there is nothing left that
 * would have to be known. */
static int
fill(int fd, const struct wholefile *file, const struct line *line)
{
	size_t done = 0;

	if (file->is_exact && fchmod(fd, file->mode) == -1)
		return -1;
	while (done < line->length) {
		const ssize_t written =
		    write(fd, line->text + done, line->length - done);

		if (written == -1 && errno != EINTR)
			return -1;
		if (written > 0)
			done += (size_t)written;
	}
	return 0;
}

/* By a file that has no name before it is whole; where there is no older one,
 * that is its own, and it *IS_IN_PLACE. */
static int
make_at_once(const struct wholefile *file, const struct line *line,
             bool *is_in_place)
{
	char path[FD_PATH_SIZE];
	const int fd = openat(file->directory_fd, file->directory,
	                      O_TMPFILE | O_WRONLY | O_CLOEXEC, file->mode);

	if (fd == -1)
		return -1;
	(void)text_format(path, sizeof(path), "/proc/self/fd/%d", fd);

	int result = fill(fd, file, line);

	if (result == 0 && linkat(AT_FDCWD, path, file->directory_fd,
	                          file->file, AT_SYMLINK_FOLLOW) == 0)
		*is_in_place = true;
	else if (result == 0) /* there is an older one, mostly */
		result = linkat(AT_FDCWD, path, file->directory_fd,
		                file->unfinished, AT_SYMLINK_FOLLOW);

	const int why = errno;

	(void)close(fd);
	errno = why;
	return result;
}

/* Where file systems know no better. */
static int
make_in_steps(const struct wholefile *file, const struct line *line)
{
	const int fd = openat(
	    file->directory_fd, file->unfinished,
	    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, file->mode);

	if (fd == -1)
		return -1;

	int result = fill(fd, file, line);
	int why = errno;

	/* A network file system may tell only now that the disk is full. */
	if (close(fd) == -1 && result == 0) {
		result = -1;
		why = errno;
	}
	errno = why;
	return result;
}

int
wholefile_write(const struct wholefile *file, const struct line *line)
{
	bool is_in_place = false;

	/* Of a writer that was killed. */
	(void)unlinkat(file->directory_fd, file->unfinished, 0);
	/* Which errno tells that there is no O_TMPFILE, no linkat(2) of one, or
	 * no /proc, depends on the file system. Any other trouble, the second
	 * way meets too. */
	if (make_at_once(file, line, &is_in_place) == 0 ||
	    make_in_steps(file, line) == 0) {
		if (is_in_place ||
		    renameat(file->directory_fd, file->unfinished,
		             file->directory_fd, file->file) == 0)
			return 0;
	}

	const int why = errno;

	(void)unlinkat(file->directory_fd, file->unfinished, 0);
	errno = why;
	return -1;
}
