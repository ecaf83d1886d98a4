#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where a relay writes to. The parent, which started wdrun, has the same open
 * file description, on which O_NONBLOCK must not be set. */
struct sink {
	int fd; /* -1: nowhere */
	enum {
		SINK_FILE, /* or a device; a write never waits for a reader */
		SINK_PIPE,
		SINK_FIFO, /* has a name: another reader may open it */
		SINK_SOCKET,
		SINK_TTY,
	} kind;
	bool has_nowait; /* takes RWF_NOWAIT, as far as is known */
};

/* The sink on FD, or on nothing if -1. May hang in a file system. */
struct sink sink_open(int fd);

/* Writes up to SIZE bytes of TEXT, as much as is taken without waiting for a
 * reader. Returns how much that was, or -1 with errno: EAGAIN where nothing is
 * taken now, and else of write(2). */
ssize_t sink_write(struct sink *sink, const char *text, size_t size);
