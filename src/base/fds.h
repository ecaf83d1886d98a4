#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Opens /dev/null, close-on-exec, as descriptor 3 or above, and as 0, 1 and 2
 * where these were closed: no message lands in some other file, and the command
 * still finds them closed. Returns the first, or -1 with errno of open(2). */
int fds_open_null(void);

/*
 * Lets go of all that came from the parent but stderr: puts the /dev/null on
 * NULL_FD in the place of stdin and stdout, closes every descriptor from 3 on
 * but the COUNT ones in KEEP, which may hold -1, and goes to "/", so that no
 * mount stays busy.
 */
void fds_release(int null_fd, const int keep[], size_t count);

/* Closes FD, unless it is -1. Keeps errno. */
void fds_close(int fd);

/* Reads from FD until SIZE bytes are at DATA, or to the end of the file.
 * Returns how many bytes there are, or -1 with errno of read(2). */
ssize_t fds_read(int fd, void *data, size_t size);

/* Writes the SIZE bytes at DATA to FD. Returns how many bytes were written: if
 * that is not all, errno of write(2) says why. */
size_t fds_write(int fd, const void *data, size_t size);

/* As fds_write(), but gives up, with ETIMEDOUT, where a pipe, a socket or a
 * terminal takes nothing for PATIENCE_MS, whether FD has O_NONBLOCK or not. */
size_t fds_write_in_time(int fd, const void *data, size_t size,
                         int patience_ms);
