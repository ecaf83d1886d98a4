#ifndef WDRUN_STOPPING_H
#define WDRUN_STOPPING_H

#include <stdbool.h>

#include "registry.h"

/* Ends the run of RECORD for --cancel, and waits until it is gone. Returns 0,
 * or STATUS_FAILED having told why not. */
int stopping_end(const struct record *record, bool is_quiet);

#endif
