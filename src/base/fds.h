#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kernel.h"

/* Opens /dev/null with FLAGS of open(2) as each of 0, 1 and 2 that is closed: a
 * file opened later would get that number, and messages. Returns as open(2). */
int fds_fill_standard(int flags);

/* Finds the first descriptor from *FD on that this process has inherited: what
 * wdrun opens is close-on-exec. After ten free numbers in a row, returns false,
 * with *FD behind all that wdrun has opened. */
bool fds_next_inherited(int *fd);

/* Closes what this process has inherited, but stderr. Call it once: a second
 * call would end at the gap, and close what wdrun has opened behind it. */
void fds_close_inherited(void);

/* Goes to "/", so that the mount of the caller's directory is not busy. */
void fds_leave_directory(void);

/* Returns mode (0: unknown) and inode of PATH in FD, or of FD if PATH is "",
 * without a request to a file server, which may hang. */
struct kernel_statx fds_look_at(int fd, const char *path);

/* Whether the terminal FD adds a "\r" to each "\n". */
bool fds_adds_returns(int fd);

/* Closes FD, unless FD is -1. Keeps errno. */
void fds_close(int fd);

struct pollfd;

/* As ppoll(2), for at most WAIT nanoseconds; MASK has the signals that are
 * blocked meanwhile, or is NULL: those that are blocked already. */
int fds_poll(struct pollfd *fds, size_t count, int64_t wait,
             const uint64_t *mask);

/* Returns a descriptor for writing to FD's file: of a pipe or terminal, if that
 * may be opened, a description of our own with O_NONBLOCK, which would else
 * affect all who share it. Or returns -1. */
int fds_open_sink(int fd);

/* Bytes, and how many of them are written. */
struct part {
	char *text;
	size_t size;
	size_t written;
	size_t line_end; /* of a long line that is being written */
};

/* Writes the rest of PART to FD until that is full. Returns 0, or errno. */
int fds_write_part(int fd, struct part *part);

/* Writes the SIZE bytes at DATA to FD, until a pipe, socket or terminal takes
 * nothing for PATIENCE_MS milliseconds (-1: without a bound). Returns whether
 * all were written; if not, with errno of write(2) or ETIMEDOUT. */
bool fds_write(int fd, char *data, size_t size, int patience_ms);
