#pragma once

#include <sys/stat.h>

#include <stdbool.h>
#include <sys/types.h>

/* Files that hold a PID, "4711\n": a shell script takes a lock by "echo $$
 * >FILE", and looks for its owner by "kill -0 $(cat FILE)". */
struct pidfile {
	int directory_fd;
	const char *name;   /* in that directory */
	int fd;             /* or -1 */
	struct stat status; /* of FD, when it was last opened or read */
};

/* Whether a file of STATUS, in DIRECTORY_FD, is no trap of another user: it
 * belongs to this user or root, or only they, and a group that they trust, can
 * make files there. */
bool pidfile_is_trusted(int directory_fd, const struct stat *status);

/* Opens FILE for reading, and if possible for writing. Returns 0; or -1 with
 * errno: of open(2), ENOTSUP if it is not a regular file, EUSERS if it is not
 * trusted. */
int pidfile_open(struct pidfile *file);

/* Whether the name of FILE still means the file that was opened. */
bool pidfile_is_named(const struct pidfile *file);

/* Returns the PID in FILE; 0 if FILE is blank; or -1 with errno: of read(2),
 * EINVAL if the content is anything else. */
pid_t pidfile_read(struct pidfile *file);

/* Whether the process that wrote PID, which was read from FILE, lives. True
 * where it cannot be known: no lock is taken from a living process. */
bool pidfile_has_owner(const struct pidfile *file, pid_t pid);

/* Overwrites the content of FILE, which was read, by PID, at once. Returns 0,
 * or -1 with errno of write(2). */
int pidfile_write(const struct pidfile *file, pid_t pid);
