#pragma once

#include <stdint.h>

#include "watchdog.h"

struct run;

/* The resources that a run has used. All 0: not known, or no command ran. */
struct usage {
	int64_t elapsed;     /* since the target's start, in nanoseconds */
	int64_t cpu;         /* of the tree, in nanoseconds */
	int64_t peak_memory; /* of its largest process, in KiB */
};

/* In the supervisor, once all its children are reaped. */
struct usage summary_measure(const struct run *run);

/* For --verbose: prints that the run is over, with OUTCOME and USAGE. Prints
 * nothing where USAGE is not known. */
void summary_print(const struct run *run, const struct usage *usage,
                   struct outcome outcome);
