#ifndef WDRUN_IDENTITY_H
#define WDRUN_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BOOT_ID_SIZE 40 /* a UUID, 36 characters, and its end */

/*
 * What makes a process recognisable: a PID alone is given away again. With the
 * moment of its start it stands for one process of one boot.
 */
struct identity {
	pid_t pid;      /* 0: nobody */
	uint64_t start; /* clock ticks after boot, proc(5): starttime */
};

/* Reads who PID is now. Returns 0, or -1 with errno: ENOENT or ESRCH where PID
 * is gone, or there is no /proc. */
int identity_read(pid_t pid, struct identity *identity);

enum fate {
	FATE_UNKNOWN,
	FATE_ALIVE,
	FATE_DEAD,
};

/*
 * What became of this very process. FATE_UNKNOWN, with errno, where it could
 * not be looked at: for want of descriptors, say, or since /proc hides it
 * ("hidepid", proc(5)), or it has no number here.
 */
enum fate identity_look(const struct identity *identity);

/* Whether this very process lives. A zombie does not, nor does another process
 * that got its PID. */
bool identity_is_alive(const struct identity *identity);

/* A pidfd, close-on-exec, for this very process. Returns it, or -1 with errno:
 * ESRCH where it is dead. */
int identity_open(const struct identity *identity);

/* Reads the ID of this boot. Returns 0, or -1 with errno. */
int identity_boot(char id[BOOT_ID_SIZE]);

/* Reads which PID namespace this process is in, as an inode number. Returns 0,
 * or -1 with errno. */
int identity_namespace(uint64_t *number);

/* The same of the time namespace, by whose clock /proc tells when a process was
 * started: time_namespaces(7). 0 where there are none (before Linux 5.6). */
uint64_t identity_time_namespace(void);

#endif
