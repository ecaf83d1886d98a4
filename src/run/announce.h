#pragma once

#include <stdint.h>

#include "base/duration.h"
#include "watchdog.h"

struct run;

/* From the reason for a stop to its first signal, for the look at the processes
 * that the message names. */
#define LOOK_BUDGET (100 * MILLISECOND)

/*
 * What a message on a stop needs is read by helpers, the readers, and printed
 * by another helper, the announcer. Any of them may hang: a read of the command
 * line of a process waits for a lock that a thread in state D may hold, and
 * stderr may be on a file system that does not answer. So a watcher neither
 * reads nor prints, and does not wait for a helper for long. Where a reader
 * hangs with one process, the next reader tells less of that process.
 */

/* How long the look may take where the watcher was woken LATE, on a machine
 * that is slow for all: what is left of LOOK_BUDGET; or a quarter of LATE,
 * which puts off the first signal by no more than that. */
int64_t announce_budget(int64_t late);

/*
 * Has an announcer tell that RUN goes to NEXT for the reason WHY, and to which
 * processes of its tree, as it was last read, that happens. Returns when all
 * has been read, so that the processes may be signalled, and not later than
 * UNTIL: what was not read by then is not told.
 */
void announce_start(struct run *run, enum state next, enum reason why,
                    int64_t until);

/* Gives the announcer 0.2 seconds to print, then ends it. Waits 0.2 seconds at
 * most until the readers, which have got SIGKILL, are dead. */
void announce_finish(struct run *run);
