#pragma once

#include "watchdog.h"

struct run;

/* The decisions of a run. No function here acts or asks the kernel: all facts
 * are in the arguments, so that a table can test each decision. */

/* The reason for which RUN should change its state at NOW, or REASON_NONE. */
enum reason decide(const struct run *run, int64_t now);

/* The state that WHY leads to from STATE. */
enum state state_next(enum state state, enum reason why);

/* Whether no process is left to wait for: the tree is empty, or its survivors
 * are let go. Undelivered output may be left. */
bool state_nobody_left(const struct run *run);

/* Whether RUN ends by a timeout, a signal or the loss of a watcher or the
 * parent, so that undelivered output must not hold RUN up for long. */
bool state_output_is_bounded(const struct run *run);

/* The next time at which RUN has something to do without an event, or NEVER. */
int64_t state_deadline(const struct run *run);

/* How wdrun is to end, RUN being done. */
struct outcome run_outcome(const struct run *run);
