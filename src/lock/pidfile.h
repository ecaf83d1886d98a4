#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The PID in a lock file: "4711\n", which shell scripts write with
 * "echo $$ >FILE" and look at with "kill -0 $(cat FILE)". */

enum pidfile_owner {
	OWNER_ALIVE,
	OWNER_DEAD,
	OWNER_REUSED, /* the process with the PID started after the writing */
};

/* Reads the LENGTH bytes of TEXT, the whole of the file. Returns the PID; 0 if
 * there are only blanks; or -1 with errno EINVAL if there is anything else, or
 * a number that kill(2) does not take for one process. */
pid_t pidfile_parse(const char *text, size_t length);

/* Tells what has become of the process PID, which was written into a file at
 * WRITTEN_AT, in nanoseconds since the epoch. A zombie is dead. Without /proc a
 * reused PID counts as OWNER_ALIVE. */
enum pidfile_owner pidfile_owner_state(pid_t pid, int64_t written_at);

/* Reads the PID in the open file FD. Returns as pidfile_parse or read(2); a
 * directory holds no PID (EINVAL). */
pid_t pidfile_read(int fd);

/* Does the same, and stores what has become of the process in *OWNER. */
pid_t pidfile_read_owner(int fd, enum pidfile_owner *owner);

/* How long, in nanoseconds, the empty file FD may still be about to be written:
 * "echo $$ >FILE" makes or empties the file first, and writes then. */
int64_t pidfile_time_to_write(int fd);

/* Writes PID into the open file FD, which has SIZE bytes, by one write(2).
 * Returns 0, or -1 with errno of write(2). */
int pidfile_write(int fd, pid_t pid, uint64_t size);
