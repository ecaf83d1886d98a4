#pragma once

#include <stdint.h>

#include "base/duration.h"
#include "watchdog.h"

struct run;

/* The time between the reason for a stop and its first signal, in which the
 * readers look at the processes. */
#define LOOK_BUDGET (100 * MILLISECOND)

/*
 * Helpers, the readers, read what the message on a stop tells, and another
 * helper, the printer, prints the message. Each helper may hang: a read of a
 * process's command line waits for a lock that a thread in state D may hold,
 * and stderr may be on a file system that does not answer. So a watcher neither
 * reads nor prints, and waits for a helper only for a short time. If a reader
 * hangs with a process, the next reader reads less of that process.
 */

/* How long the readers may take where the watcher woke up LATE, on a slow
 * machine: the rest of LOOK_BUDGET, or a quarter of LATE if that is more. */
int64_t announce_budget(int64_t late);

/* Has helpers read and print the message that RUN changes to NEXT for the
 * reason WHY, with the processes of its tree as it was last read. Returns when
 * all is read, so that the processes may be signalled, and not later than
 * UNTIL: the message leaves out what was not read by then. */
void announce_start(struct run *run, enum state next, enum reason why,
                    int64_t until);

/* Gives the printer 0.2 seconds to print, then kills it. Waits 0.2 seconds at
 * most for the readers, which have got SIGKILL, to die. */
void announce_finish(struct run *run);
