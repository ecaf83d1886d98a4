#ifndef WDRUN_REAP_H
#define WDRUN_REAP_H

#include <stdbool.h>

#include "registry.h"

/*
 * Ends what runs have left whose watchers are both dead, and takes them off the
 * record: their processes, so far as these are proven to be theirs, their lock
 * files and --cleanup files. One line for each run, unless IS_QUIET.
 */

/* wdrun --reap: does so in the registry at that path (see registry_open), and
 * tells what is left and why. Returns the exit status: 1 if an orphaned run is
 * left on record, STATUS_FAILED if nothing could be looked at. */
int reap_all(const char *registry, bool is_quiet);

/* What a registered run does before it starts: the same, but what cannot be
 * reaped is not its business, and not told. Returns 0. */
int reap_before_run(int directory_fd, bool is_quiet);

/* Reaps one orphaned run, and tells why if that is not possible. Returns 0 when
 * it is gone, else -1. */
int reap_record(const struct record *record, bool is_quiet);

#endif
