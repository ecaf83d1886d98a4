/* The machine, the boot and the namespaces in which this process runs. */
#include "registry/host.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"

static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id";
static const char pid_path[] = "/proc/self/ns/pid";
static const char time_path[] = "/proc/self/ns/time";

/* Returns 0, or -1 with errno. */
static int
read_boot_id(char id[BOOT_ID_SIZE])
{
	const int fd = open(boot_id_path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const ssize_t length = read(fd, id, BOOT_ID_SIZE - 1);

	if (length == 0)
		errno = EIO;
	fds_close(fd);
	if (length <= 0)
		return -1;
	id[length] = '\0';
	id[strcspn(id, "\n")] = '\0';
	return 0;
}

const char *
host_read(struct host *host)
{
	struct stat namespace;

	*host = (struct host){ .time_namespace = 0 };
	(void)gethostname(host->name, sizeof(host->name)); /* cannot fail */
	if (read_boot_id(host->boot_id) == -1)
		return boot_id_path;
	/* The inode of the file to which the link leads is the namespace. */
	if (stat(pid_path, &namespace) == -1)
		return pid_path;
	host->pid_namespace = namespace.st_ino;
	if (stat(time_path, &namespace) == 0)
		host->time_namespace = namespace.st_ino;
	else if (errno != ENOENT)
		return time_path;
	return NULL;
}

bool
host_is_before_boot(const struct stat *file)
{
	struct timespec up;

	if (clock_gettime(CLOCK_BOOTTIME, &up) == -1)
		return false;

	/* A second earlier than the boot by these clocks: one of them may have
	 * been set since. */
	const int64_t boot =
	    duration_since_epoch() - (up.tv_sec + 1) * SECOND - up.tv_nsec;

	return file->st_ctim.tv_sec * SECOND + file->st_ctim.tv_nsec < boot;
}
