#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The PID in a lock file, "4711\n": shell scripts write the PID with "echo $$
 * >FILE" and check the process with "kill -0 $(cat FILE)". */

enum pidfile_owner {
	OWNER_ALIVE,
	OWNER_DEAD,
	OWNER_REUSED, /* the process started after PID was written */
};

/* Parses the LENGTH bytes of TEXT, a complete file. Returns the PID; 0 if TEXT
 * is blank; or -1 with errno EINVAL for other text, and for 0 and numbers above
 * INT_MAX, which are no PID. */
pid_t pidfile_parse(const char *text, size_t length);

/* Returns the state of the process PID, which was written into a file at
 * WRITTEN_AT (nanoseconds since the epoch). A zombie is dead. Without /proc, a
 * reused PID is OWNER_ALIVE. */
enum pidfile_owner pidfile_owner_state(pid_t pid, int64_t written_at);

/* Reads the PID in the open file FD. Returns like pidfile_parse(), or -1 with
 * errno of read(2); EINVAL for a directory, too. */
pid_t pidfile_read(int fd);

/* Does the same, and stores the state of the PID's process in *OWNER. */
pid_t pidfile_read_owner(int fd, enum pidfile_owner *owner);

/* Returns for how many nanoseconds the PID may still be missing in the empty
 * file FD: "echo $$ >FILE" makes or empties the file before it writes. */
int64_t pidfile_time_to_write(int fd);

/* Writes PID over the SIZE bytes of the open file FD by one write(2). Returns
 * 0, or -1 with errno of write(2). */
int pidfile_write(int fd, pid_t pid, uint64_t size);
