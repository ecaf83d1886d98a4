#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens /dev/null, close-on-exec, as descriptor 3 or above, and as each of 0, 1
 * and 2 that is closed: otherwise messages could go to another file. COMMAND
 * still finds 0 to 2 closed. Returns the descriptor above 2, or -1 with
 * errno. */
int fds_open_null(void);

/* Gives up all that this process has inherited but stderr: replaces stdin and
 * stdout by NULL_FD, which is open on /dev/null; closes each descriptor from 3
 * on but the COUNT descriptors in KEEP (items below 3 do not count); and goes
 * to "/", so that no mount stays busy. Ignores errors. */
void fds_release(int null_fd, const int keep[], size_t count);

/* Closes FD, unless FD is -1. Keeps errno. */
void fds_close(int fd);

/* Reads SIZE bytes, or all before end-of-file, from FD into DATA. Returns how
 * many bytes, or -1 with errno of read(2), never EINTR. */
ssize_t fds_read(int fd, void *data, size_t size);

/* Writes the SIZE bytes at DATA to FD. Returns the number of bytes written; if
 * that number is below SIZE, errno is of write(2), but never EINTR. */
size_t fds_write(int fd, const void *data, size_t size);

/* Like fds_write(), but fails with ETIMEDOUT when a pipe, socket or terminal
 * takes nothing for PATIENCE_MS milliseconds (-1: without a bound). */
size_t fds_write_in_time(int fd, const void *data, size_t size,
                         int patience_ms);

/* Where fds_replace() writes: FILE and UNFINISHED are names in the directory
 * that DIRECTORY_FD is open on. */
struct replacement {
	int directory_fd;
	const char *file;       /* an existing file of this name is replaced */
	const char *unfinished; /* name during the writing; no other process may
	                         * use this name */
	mode_t mode;
	bool is_exact; /* umask(2) does not apply to MODE */
};

/* Writes the SIZE bytes at DATA so that other processes see them all or none. A
 * writer killed by SIGKILL may leave UNFINISHED, which the next one removes.
 * Returns 0; or -1 with errno of the call that failed, with FILE unchanged and
 * UNFINISHED removed. */
int fds_replace(const struct replacement *file, const void *data, size_t size);
