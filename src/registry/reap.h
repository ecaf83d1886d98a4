#pragma once

#include <stdbool.h>

#include "registry/record.h"

/*
 * Finishes orphaned runs, whose front and supervisor are both dead: kills their
 * processes, as far as these are proven to be theirs (match.h), removes their
 * lock files and --cleanup files, and takes the runs off the record. Runs from
 * before the last boot are taken off without a signal. One message for each
 * run, unless IS_QUIET.
 */

/* wdrun --reap: finishes the orphaned runs in REGISTRY (see registry_open), and
 * says what is left and why. Returns the exit status: 1 if an orphaned run is
 * left on record, STATUS_FAILED if the registry or /proc cannot be read. */
int reap_all(const char *registry, bool is_quiet);

/* The same before a registered run starts, for at most 10 seconds. What cannot
 * be finished is passed over without a message. */
void reap_before_run(int directory_fd, bool is_quiet);

/* Finishes the run of RECORD, whose entry it may sort, for --cancel, if it is
 * still on record. Returns 0 when it is not any more; else -1, after a message.
 */
int reap_record(struct record *record, bool is_quiet);
