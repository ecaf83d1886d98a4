#pragma once

#include <stdbool.h>

/* wdrun --cancel: stops the run that WHICH means (its ID, else its name, else
 * the PID of its front, supervisor or target) in REGISTRY (see registry_open),
 * and waits until the run is gone. Returns the exit status: 0; 1 where there is
 * no such run; STATUS_FAILED, after a message, where there are several such
 * runs, or where the run cannot be stopped. */
int cancel_run(const char *registry, const char *which, bool is_quiet);
