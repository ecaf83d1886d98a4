#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOST_ID_SIZE 40 /* a UUID, 36 characters, and the null byte */

struct fileinfo;

/* The machine, boot and namespaces of a process. A PID and a start time in an
 * entry of the registry stand for a process only on the same host. */
struct host {
	char boot_id[HOST_ID_SIZE];
	char machine_id[HOST_ID_SIZE]; /* machine-id(5), or empty: not known */
	uint64_t pid_namespace;        /* the inode number, namespaces(7) */
	/* The start times in /proc are by the clock of this namespace:
	 * time_namespaces(7). 0: Linux before 5.6 has none. */
	uint64_t time_namespace;
};

/* Reads the HOST of this process. Returns NULL; or, with errno, the path in
 * /proc that cannot be read. */
const char *host_read(struct host *host);

/* Whether FILE was not changed since the boot of this machine, so that no
 * process that wrote it is alive. */
bool host_is_before_boot(const struct fileinfo *file);
