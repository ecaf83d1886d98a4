#pragma once

#include "watchdog.h"

struct run;

/* The decisions of a run. No function here asks the kernel or sends anything:
 * all facts are in the arguments, so that a table can test each decision. */

/* The reason for which RUN should change its state at NOW, or REASON_NONE. */
enum reason decide(const struct run *run, int64_t now);

/* The next time at which RUN has something to do without an event, or NEVER. */
int64_t next_due(const struct run *run);

/* When the clock was due by which RUN changes its state for the reason WHY;
 * NOW, if no clock did that. */
int64_t due_since(const struct run *run, enum reason why, int64_t now);

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
