#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOST_ID_SIZE 40 /* a UUID, 36 characters, and the null byte */

struct fileinfo;

/*
 * Where a process runs: which machine, which boot, which namespaces. The PID
 * and the start time of a process in a registry entry mean that process only to
 * a reader on the same host.
 */
struct host {
	char boot_id[HOST_ID_SIZE];
	char machine_id[HOST_ID_SIZE]; /* machine-id(5), or empty: not known */
	uint64_t pid_namespace;        /* its inode number, namespaces(7) */
	/* The clock of this namespace tells when a process was started:
	 * time_namespaces(7). 0 before Linux 5.6, which has none. */
	uint64_t time_namespace;
};

/*
 * Reads into HOST where this process runs. Returns NULL, or with errno the path
 * in /proc that cannot be read.
 */
const char *host_read(struct host *host);

/* Whether FILE was not changed since the boot of this machine, so that no
 * process that wrote it is alive. */
bool host_is_before_boot(const struct fileinfo *file);
