#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads from FD until SIZE bytes are at DATA, or to the end of the file.
 * Returns how many bytes there are, or -1 with errno of read(2). */
ssize_t rw_read(int fd, void *data, size_t size);

/* Writes the SIZE bytes at DATA to FD, by more than one write(2) if need be.
 * Returns how many bytes were written: if that is not all, errno of write(2)
 * says why. */
size_t rw_write(int fd, const void *data, size_t size);
