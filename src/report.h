#ifndef WDRUN_REPORT_H
#define WDRUN_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "../watchdog.h"

#define REPORT_LEFT_MAX 32

/*
 * --report: how a run ended, as JSON. What is to be told is noted where both
 * watchers find it, as either of them may have to write it in the end.
 */
struct report_facts {
	int64_t started;    /* the command, or 0: it never was */
	int64_t started_at; /* since the epoch */
	int64_t ended;      /* 0: not yet */
	pid_t target;
	struct outcome target_outcome;
	struct outcome verdict;
	enum reason stop;
	bool target_left;
	bool is_locked_out;  /* a lock is held by somebody else */
	int exec_errno;      /* why the command could not be executed, or 0 */
	uint64_t stopped;    /* processes that got the first signal of a stop */
	uint64_t killed;     /* that got SIGKILL */
	int64_t cpu;         /* of the tree, in nanoseconds */
	int64_t peak_memory; /* of its largest process, in KiB */
	size_t left_count;
	pid_t left[REPORT_LEFT_MAX]; /* that could not be killed */
};

/* Looks whether there can be a file PATH. Returns 0, or -1 having told. */
int report_check(const char *path);

/* Makes room for RUN's facts. Returns 0, or -1 with errno of mmap(2). */
int report_begin(struct run *run);

/* These do nothing for a run without a report. */
void report_note_start(const struct run *run, int64_t now);
void report_note_stop(const struct run *run, size_t processes);
void report_note_kill(const struct run *run, size_t processes);
void report_note_lockout(const struct run *run);
void report_note_exec_failure(const struct run *run, int why);

/* The run is over with VERDICT, and its children are reaped. */
void report_note_end(const struct run *run, struct outcome verdict);

/* What is returned became VERDICT after all. */
void report_note_verdict(const struct run *run, struct outcome verdict);

/* Writes the report. May hang where a file system does. */
void report_write(struct run *run);

#endif
