#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "watchdog.h"

struct run;

/* The decisions of a run. No function here asks the kernel or sends anything:
 * all facts are in the arguments, so that a table can test each decision. */

/* What follows from a reason: its row in decide.c, for the state machine, the
 * exit status, the messages and the report. A new reason is a name in
 * watchdog.h, a row, and the place that gives the reason: a line of decide(),
 * or a row of the clocks. */
struct reason_row {
	enum state next; /* the state that the reason leads to */
	int status;      /* the exit status, or STATUS_OF_TARGET */
	enum {
		TELLING_NOTHING, /* but for --verbose */
		TELLING_LINE,    /* on stderr */
		TELLING_TREE,    /* with what each process is blocked in */
	} telling;
	const char *code;        /* for --report: a word that stays; or NULL */
	const char *words;       /* for messages and --report */
	const char *preposition; /* for messages: " after ", an option's time */
	size_t time; /* where that is in struct options; 0: no time */
};

#define STATUS_OF_TARGET (-1)

extern const struct reason_row reasons[REASON_COUNT];

/* Whether WHY ends the tree. */
bool reason_is_stop(enum reason why);

/* The reason for which RUN should change its state at NOW, or REASON_NONE. */
enum reason decide(const struct run *run, int64_t now);

/* The next time at which RUN has something to do without an event, or NEVER. */
int64_t next_due(const struct run *run);

/* A terminal has stopped the run at NOW: what bounds the command stands still
 * until clocks_resume(), which puts it off by the length of the pause. */
void clocks_pause(struct run *run, int64_t now);
void clocks_resume(struct run *run, int64_t now);

/* Sets at NOW, in a stop, when SIGKILL follows: after --kill-after, or sooner
 * where timeout(1) waits no longer. */
void clocks_bound_stop(struct run *run, int64_t now);

/* Whether no process is left to wait for: the tree is empty, or its survivors
 * are let go. */
bool nobody_is_left(const struct run *run);

/* How wdrun is to end, RUN being done. */
struct outcome run_outcome(const struct run *run);
