#pragma once

#include <stdbool.h>

struct registry_walk;
struct strbuf;

/* What wdrun does instead of running a command. REGISTRY is the value of
 * --registry, or NULL. Each returns the exit status. */

/* --list, with AS_JSON --json: prints the runs on record. */
int list_print(const char *registry, bool as_json, bool is_quiet);

/* --cancel=WHICH: stops the run that has the ID, the name, or the front's PID
 * WHICH, and returns when it is gone. */
int cancel_run(const char *registry, const char *which, bool is_quiet);

/* --reap: finishes the runs whose watchers are dead. */
int reap_all(const char *registry, bool is_quiet);

/* The same for the registry DIRECTORY_FD before a run is started: in 10
 * seconds at most, and tells only what it has done. */
void reap_before_run(int directory_fd, bool is_quiet);

/* Finishes the orphaned run at WALK, and prints that. Returns 0 when the run is
 * off the record, also by another wdrun; else -1. */
int reap_entry(struct registry_walk *walk, bool is_quiet);
