/* Whose a process is, and what it ignores. */
#include "procstatus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"

#define PATH_SIZE   64
#define STATUS_SIZE 8192 /* thrice what it takes, but for many groups */

/*
 * The first number of the line NAME ("\nUid:\t"), to BASE. The newline is part
 * of the name, as the process's own name is on the first line: the kernel
 * writes it with its newlines escaped.
 */
static int
find_number(const char *text, const char *name, int base, uint64_t *number)
{
	/* Not strstr(3): memmem(3) is there already. */
	const char *const line = memmem(text, strlen(text), name, strlen(name));
	char *end;

	if (line == NULL) {
		errno = EINVAL;
		return -1;
	}

	const char *const digits = line + strlen(name);

	*number = strtoull(digits, &end, base);
	if (end == digits) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

/* A file of /proc comes whole, as far as there is room; the groups of a user
 * may fill it before what stands behind them. */
static ssize_t
read_status(pid_t pid, char *text, size_t size)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path), "/proc/%d/status", pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const ssize_t length = read(fd, text, size - 1);
	const int why = errno;

	(void)close(fd);
	errno = length == 0 ? ESRCH : why;
	text[length > 0 ? length : 0] = '\0';
	return length;
}

int
procstatus_read(pid_t pid, struct procstatus *status)
{
	char text[STATUS_SIZE];
	uint64_t user;

	if (read_status(pid, text, sizeof(text)) <= 0 ||
	    find_number(text, "\nUid:\t", 10, &user) == -1)
		return -1;
	status->user = (uid_t)user;
	if (find_number(text, "\nSigIgn:\t", 16, &status->ignored) == -1)
		status->ignored = 0;
	return 0;
}
