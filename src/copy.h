#ifndef WDRUN_COPY_H
#define WDRUN_COPY_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The copy of the output. Relays write it into a pipe, from which a relay of
 * its own, the copyist, carries it to its file: so that a file system that
 * hangs, or a reader that is stuck, holds up the copy and not the run.
 */
struct copy {
	int fd; /* the pipe, which does not block; -1: there is no copy */
	const char *name;
	const _Atomic int64_t *moved_at; /* when the copyist last got on */
	_Atomic bool *is_over; /* somebody has given it up, and told */
};

/* Gives the copy up for everybody, and tells WHY if nobody has. */
void copy_end(const char *name, _Atomic bool *is_over, const char *why);

/*
 * Writes the LENGTH bytes of TEXT. A copy that does not get on for a second is
 * given up, as one that cannot be written is by tee(1). Returns early once
 * GIVES_UP.
 */
void copy_write(struct copy *copy, const char *text, size_t length,
                const volatile sig_atomic_t *gives_up);

#endif
