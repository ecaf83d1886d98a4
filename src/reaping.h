#ifndef WDRUN_REAPING_H
#define WDRUN_REAPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "registry.h"

struct stat;

/* Somebody's going over the record. */
struct reaping {
	bool is_quiet;
	bool is_asked;    /* by --reap or --cancel: then tell what is left */
	int64_t deadline; /* then no other run is looked at */
	size_t left;      /* orphaned runs that could not be finished */
};

/* Ends what is left of an orphaned run, removes its lock files and takes it off
 * the record. Returns 0 when it is off, else -1. May have to wait, as
 * orphans_end may. */
int reaping_finish(const struct record *record, const struct reaping *reaping);

/* Takes a run off the record that is from before the last boot, and signals
 * nobody. Returns 0, or -1 where it is still there. */
int reaping_drop(const struct record *record, const struct reaping *reaping);

/* Whether FILE was not changed since the last boot, so that nobody who made it
 * is alive. */
bool reaping_is_old(const struct stat *file);

#endif
