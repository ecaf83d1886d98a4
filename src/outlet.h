#ifndef WDRUN_OUTLET_H
#define WDRUN_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where a relay writes to: a file description of the caller's, whose flags are
 * not to be touched. */
struct outlet {
	int fd; /* -1: nowhere */
	enum {
		OUTLET_FILE, /* or a device, for which nobody has to be waited
		              */
		OUTLET_PIPE,
		OUTLET_FIFO, /* has a name: the next reader may come */
		OUTLET_SOCKET,
		OUTLET_TERMINAL,
	} kind;
	bool lacks_nowait; /* no write that does not wait can be had */
};

/* An outlet for FD, which may be -1. */
struct outlet outlet_on(int fd);

/* Whether poll(2) tells of OUTLET that its reader is gone for good. */
bool outlet_has_one_reader(const struct outlet *outlet);

/*
 * Writes up to SIZE bytes of TEXT, as much as is taken without a wait (but a
 * file system's). Returns how much that was, or -1 with errno: EAGAIN where
 * nothing is taken now, and else of write(2). A reader that takes something now
 * and then is told from one that is stuck by that.
 */
ssize_t outlet_write(struct outlet *outlet, const char *text, size_t size);

/* Waits until OUTLET takes something, or a signal comes. */
void outlet_await(const struct outlet *outlet);

#endif
