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
#include "base/fileinfo.h"

static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id";
static const char machine_id_path[] = "/etc/machine-id";
static const char pid_path[] = "/proc/self/ns/pid";
static const char time_path[] = "/proc/self/ns/time";

/* Reads the first line of the file PATH. Returns 0, or -1 with errno. */
static int
read_id(const char *path, char id[HOST_ID_SIZE])
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const ssize_t length = read(fd, id, HOST_ID_SIZE - 1);

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
	(void)read_id(machine_id_path, host->machine_id);
	if (read_id(boot_id_path, host->boot_id) == -1)
		return boot_id_path;
	/* stat(2) follows the link to the namespace: namespaces(7). */
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
host_is_before_boot(const struct fileinfo *file)
{
	struct timespec up;

	/* Less a second: CLOCK_REALTIME may have been set since the boot. */
	return clock_gettime(CLOCK_BOOTTIME, &up) == 0 &&
	       file->changed < duration_since_epoch() -
	                           (up.tv_sec + 1) * SECOND - up.tv_nsec;
}
