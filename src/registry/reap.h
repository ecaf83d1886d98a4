#pragma once

#include <stdbool.h>

#include "registry/record.h"

/* Finishes orphaned runs, whose front and supervisor are both dead: kills the
 * processes that are proven to be theirs (match.h), removes their lock files
 * and --cleanup files, and takes the runs off the record. Runs from before the
 * last boot are taken off without a signal. One message for each run, unless
 * IS_QUIET. */

/* wdrun --reap: finishes the orphaned runs in REGISTRY (see registry_open), and
 * prints why a run stays. Returns the exit status: 1 if an orphaned run stays
 * on record, STATUS_FAILED if the registry or /proc cannot be read. */
int reap_all(const char *registry, bool is_quiet);

/* Does the same before a registered run starts, for at most 10 seconds. Prints
 * nothing on a run that stays on record and had no process killed. */
void reap_before_run(int directory_fd, bool is_quiet);

/* For --cancel: finishes the run of RECORD, if the run is still on record. May
 * sort the files of its entry. Returns 0 when the run is off the record; else
 * -1, after a message. */
int reap_record(struct record *record, bool is_quiet);
