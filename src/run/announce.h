#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/* How long after the start of a run with TIMEOUT announce_prepare() is due. */
int64_t announce_moment(int64_t timeout);

/* Whether a stop of RUN for the reason WHY is neither told nor reported. */
bool announce_is_silent(const struct run *run, enum reason why);

/* At NOW, shortly before --timeout: forks a reader that looks at the processes,
 * so that the first signal is on time, however busy the machine is; or another
 * reader, if that reader hangs. Returns the time of the next call, or NEVER. */
int64_t announce_prepare(struct run *run, int64_t now);

/* Whether this was done, for a stop for the reason WHY. Else forgets what was
 * read: another event came before --timeout. */
bool announce_is_prepared(struct run *run, enum reason why);

/* Whether the readers have not read all in LOOK_BUDGET or more: the tree may
 * leave them no processor, and the first signal should come before the message.
 * Ends them then. If a stop is prepared, sets *COUNT to the number of processes
 * that the reader has found, or to 0 if the number is not known. */
bool announce_is_late(const struct run *run, size_t *count);

/* Has helpers read and print the message that RUN changes to NEXT for the
 * reason WHY, with the processes of its tree as it was last read. Returns when
 * all is read, so that the processes may be signalled, and not later than
 * UNTIL: the message leaves out what was not read by then. */
void announce_start(struct run *run, enum state next, enum reason why,
                    int64_t until);

/* Gives the printer 0.2 seconds to print, then kills it. Waits 0.2 seconds at
 * most for the readers, which have got SIGKILL, to die. */
void announce_finish(struct run *run);
