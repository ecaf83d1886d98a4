/* Recognising a process for certain. */
#include "identity.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "pidfd.h"
#include "procfs.h"

int
identity_read(pid_t pid, struct identity *identity)
{
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1)
		return -1;
	*identity = (struct identity){ pid, stat.start };
	return 0;
}

enum fate
identity_look(const struct identity *identity)
{
	struct procfs_stat stat;

	if (identity->pid > 0 && procfs_read_stat(identity->pid, &stat) == 0)
		return stat.start == identity->start && !procfs_is_dead(&stat)
		           ? FATE_ALIVE
		           : FATE_DEAD;
	if (identity->pid <= 0)
		errno = ESRCH;
	else if ((errno == ENOENT || errno == ESRCH) &&
	         kill(identity->pid, 0) == -1 && errno == ESRCH)
		return FATE_DEAD;
	return FATE_UNKNOWN;
}

bool
identity_is_alive(const struct identity *identity)
{
	return identity_look(identity) == FATE_ALIVE;
}

int
identity_open(const struct identity *identity)
{
	if (identity->pid <= 0) {
		errno = ESRCH;
		return -1;
	}

	const int fd = pidfd_open(identity->pid);

	if (fd == -1)
		return -1;

	/* Looked at after it was opened, it is the right one for good. */
	const enum fate fate = identity_look(identity);
	const int why = fate == FATE_DEAD ? ESRCH : errno;

	if (fate == FATE_ALIVE)
		return fd;
	(void)close(fd);
	errno = why;
	return -1;
}

int
identity_boot(char id[BOOT_ID_SIZE])
{
	const int fd =
	    open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const ssize_t length = read(fd, id, BOOT_ID_SIZE - 1);
	const int why = errno;

	(void)close(fd);
	errno = length == 0 ? EIO : why;
	if (length <= 0)
		return -1;
	id[length] = '\0';
	id[strcspn(id, "\n")] = '\0';
	return 0;
}

uint64_t
identity_time_namespace(void)
{
	struct stat file;

	return stat("/proc/self/ns/time", &file) == -1 ? 0 : file.st_ino;
}

int
identity_namespace(uint64_t *number)
{
	struct stat file;

	/* The inode of what the link leads to: namespaces(7). */
	if (stat("/proc/self/ns/pid", &file) == -1)
		return -1;
	*number = file.st_ino;
	return 0;
}
