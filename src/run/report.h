#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "inspect/look.h"
#include "watchdog.h"

struct run;

#define REPORT_LEFT_MAX 1000

/* --report: how a run ended, as JSON. The facts are in shared memory, as either
 * watcher may have to write the report. */
struct report_facts {
	int64_t started;       /* the command's start; 0: no command ran */
	int64_t started_at;    /* wdrun's start, since the epoch */
	const char *directory; /* the caller's; NULL: not known */
	const char *path;      /* of the report */
	int directory_fd;      /* where it is, */
	char file[PATH_MAX];   /* under this name */
	int stream_fd;         /* or this descriptor, or FIFO; 0: none */
	int64_t ended;         /* 0: not yet */
	pid_t target;
	struct outcome target_outcome;
	struct outcome outcome; /* as wdrun ends */
	enum reason stop;
	bool target_left;   /* the target exited by itself */
	bool is_locked_out; /* a lock is held by another process */
	int exec_errno;     /* why the command was not executed, or 0 */
	uint64_t stopped;   /* processes that got the first signal of a stop */
	uint64_t killed;    /* processes that got SIGKILL */
	struct usage usage;
	size_t left_count;
	pid_t left[REPORT_LEFT_MAX]; /* that could not be killed */
	struct look look;            /* the diagnosis; empty: there was none */
};

/* Looks up the file of the report PATH; "/dev/fd/9" and "/dev/stderr" are
 * descriptors. Returns 0, or -1 with errno. */
int report_open(struct report_facts *report, const char *path);

/* Checks that the report can be written. Returns 0, or -1 after a message. */
int report_check(struct report_facts *report);

/* What the run has used, in the supervisor, once all its children are reaped:
 * for --verbose, too. */
struct usage report_measure(const struct run *run);

/* These functions do nothing for a run without a report. */
void report_note_start(const struct run *run, int64_t now);
void report_note_stop(const struct run *run, size_t processes);
void report_note_kill(const struct run *run, size_t processes);
void report_note_lockout(const struct run *run);
void report_note_exec_failure(const struct run *run, int why);

/* The run is over, and its children are reaped. */
void report_note_end(const struct run *run);

/* Writes the report, or prints why it cannot. May hang where a file system
 * does; waits up to two seconds for the reader of a pipe. */
void report_write(const struct run *run);
