#pragma once

#include <stdbool.h>

#include "registry/record.h"

/*
 * Finishes orphaned runs, whose front and supervisor are both dead: kills the
 * processes that are proven to be theirs (match.h), removes their lock files
 * and
 * --cleanup files, and takes the runs off the record. Runs from before the last
 * boot are taken off without a signal. One message for each run, unless
 * IS_QUIET.
 */

/* wdrun --reap: finishes the orphaned runs in REGISTRY (see registry_open), and
 * says why others stay. Returns the exit status: 1 if an orphaned run stays on
 * record, STATUS_FAILED if the registry or /proc cannot be read. */
int reap_all(const char *registry, bool is_quiet);

/* The same before a registered run starts, for at most 10 seconds. No message
 * names a run of which nothing can be done. */
void reap_before_run(int directory_fd, bool is_quiet);

/* For --cancel: finishes the run of RECORD, if it is still on record. The files
 * of its entry may be sorted. Returns 0 when the run is off the record; else
 * -1, after a message. */
int reap_record(struct record *record, bool is_quiet);
