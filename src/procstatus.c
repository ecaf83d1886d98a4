/* Whose a process is, and what it ignores. */
#include "procstatus.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "procfs.h"

/* Thrice what it takes. The groups of a user may fill it before what stands
 * behind them. */
#define STATUS_SIZE 8192

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

int
procstatus_read(pid_t pid, struct procstatus *status)
{
	char text[STATUS_SIZE];
	uint64_t user;
	const ssize_t length = procfs_read(pid, "status", text, sizeof(text));

	if (length == 0)
		errno = ESRCH;
	if (length <= 0 || find_number(text, "\nUid:\t", 10, &user) == -1)
		return -1;
	status->user = (uid_t)user;
	if (find_number(text, "\nSigIgn:\t", 16, &status->ignored) == -1)
		status->ignored = 0;
	return 0;
}
