#ifndef WDRUN_CANCEL_H
#define WDRUN_CANCEL_H

#include <stdbool.h>

/*
 * wdrun --cancel: stops the one run that WHICH names (its ID, else its name,
 * else the PID of its front, supervisor or target) in the registry at that
 * path (see registry_open), and waits until it is gone. Returns the exit
 * status: 0; 1 where there is no such run; STATUS_FAILED, having told why,
 * where there are several, or where it does not go.
 */
int cancel_run(const char *registry, const char *which, bool is_quiet);

#endif
