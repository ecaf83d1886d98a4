#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct stat;

/* Files that hold a PID, "4711\n": a shell script takes a lock by "echo $$
 * >FILE", and looks for its owner by "kill -0 $(cat FILE)". */

/* Whether FILE, in DIRECTORY_FD, is no trap of another user: it belongs to this
 * user or root, or only they, and a group that they trust, can make files
 * there. */
bool pidfile_is_trusted(int directory_fd, const struct stat *file);

/* Opens NAME for reading, and if possible for writing. Returns a descriptor; or
 * -1 with errno: of open(2), ENOTSUP if it is not a regular file, EUSERS if it
 * is not trusted. */
int pidfile_open(int directory_fd, const char *name);

/* Whether NAME, in DIRECTORY_FD, means FILE. */
bool pidfile_is_named(int directory_fd, const char *name,
                      const struct stat *file);

/* Reads the PID in FD, and the attributes of FD into *FILE. Returns the PID; 0
 * if FD is blank; or -1 with errno: of read(2), EINVAL if the content is
 * anything else. */
pid_t pidfile_read(int fd, struct stat *file);

/* Whether the process that wrote PID into FILE lives. True where it cannot be
 * known: no lock is taken from a living process. */
bool pidfile_has_owner(pid_t pid, const struct stat *file);

/* Overwrites the content of FD by PID, at once. Returns 0, or -1 with errno of
 * write(2). */
int pidfile_write(int fd, pid_t pid);
