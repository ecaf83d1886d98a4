#pragma once

#include "watchdog.h"

struct run;

/* Where --report goes. */
struct report {
	const char *path;      /* as it is told */
	const char *directory; /* the caller's, as it is told; or NULL */
	int directory_fd;      /* where it is, */
	const char *file;      /* under this name; */
	int stream_fd;         /* or this descriptor, or FIFO; -1: none */
};

/* Looks up PATH, which may name a descriptor: "/dev/fd/9", "/dev/stderr".
 * Returns 0, or -1 after a message. */
int report_open(struct report *report, const char *path);

/* Notes in the facts, in the watcher that has ended the run, how it ended. */
void report_note_end(const struct run *run);

/* Writes the report, with wdrun's OUTCOME, if one is wanted; or prints why it
 * cannot. May hang where a file system does; waits up to two seconds for the
 * reader of a pipe. */
void report_write(const struct run *run, struct outcome outcome);
