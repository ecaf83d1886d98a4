#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a relay writes to. The process that started wdrun has the same open file
 * description, so O_NONBLOCK must not be set. */
struct sink {
	int fd; /* -1: nowhere */
	enum {
		SINK_FILE, /* file or device: no reader to wait for */
		SINK_PIPE,
		SINK_FIFO, /* has a name: may get another reader */
		SINK_SOCKET,
		SINK_DATAGRAMS, /* a socket without a connection */
		SINK_TTY,
	} kind;
	bool has_nowait; /* RWF_NOWAIT has not failed yet */
};

/* Returns the sink on FD; -1: none. May hang in a file system. */
struct sink sink_open(int fd);

/* Writes as many of the SIZE bytes at TEXT as can be written without waiting
 * for a reader. Returns how many, or -1 with errno: EAGAIN if none can be
 * written now, else of write(2). */
ssize_t sink_write(struct sink *sink, const char *text, size_t size);
