/* Writes a file so that no other process sees a part of the file. */
#include "base/atomicfile.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fds.h"

/* No fsync(2): a crash of the machine that loses the file also ends every
 * process that the file describes. */
static int
fill(int fd, const struct atomicfile *file, const struct strbuf *line)
{
	if (file->is_exact && fchmod(fd, file->mode) == -1)
		return -1;
	return fds_write(fd, line->text, line->length) == line->length ? 0 : -1;
}

int
atomicfile_write(const struct atomicfile *file, const struct strbuf *line)
{
	const int directory_fd = file->directory_fd;

	(void)unlinkat(directory_fd, file->unfinished, 0);

	const int fd = openat(
	    directory_fd, file->unfinished,
	    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, file->mode);

	if (fd == -1)
		return -1;

	int result = fill(fd, file, line);
	int why = errno;

	/* NFS may report a full disk only here: ENOSPC in close(2). */
	if (close(fd) == -1 && result == 0) {
		result = -1;
		why = errno;
	}
	if (result == 0 && renameat(directory_fd, file->unfinished,
	                            directory_fd, file->file) == 0)
		return 0;
	if (result == 0)
		why = errno;
	(void)unlinkat(directory_fd, file->unfinished, 0);
	errno = why;
	return -1;
}
