#pragma once

#include <stdbool.h>

struct registry_walk;

/* What wdrun does instead of running a command. REGISTRY is the value of
 * --registry, or NULL. Each returns the exit status. */

/* --list, with AS_JSON --json: prints the runs on record. */
int list_print(const char *registry, bool as_json, bool is_quiet);

/* --cancel=WHICH: stops the run that has the ID, the name, or the front's PID
 * WHICH, and returns when it is gone. */
int cancel_run(const char *registry, const char *which, bool is_quiet);

/* --reap: finishes the runs whose watchers are dead. */
int reap_all(const char *registry, bool is_quiet);

/* The same before a run is started: for 10 seconds at most, and tells only what
 * it has done. Returns 0, or -1 after a message where the registry is refused.
 */
int reap_before_run(const char *registry, bool is_quiet);

/* Finishes the orphaned run at WALK, and tells what was done; if IS_REQUESTED,
 * also why it stays on record. Returns 0 when it is off the record, also by
 * another wdrun; else -1. */
int reap_entry(const struct registry_walk *walk, bool is_requested,
               bool is_quiet);
