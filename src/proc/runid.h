#pragma once

#include <sys/types.h>

#define RUNID_VARIABLE "WDRUN_ID"
#define RUNID_SIZE     48 /* holds what runid_make writes */

/* Writes "WDRUN_ID=4711-1879ab…" into VARIABLE: the ID of a run is the PID of
 * its FRONT and the time now, in nanoseconds since the epoch. */
void runid_make(char variable[RUNID_SIZE], pid_t front);

/* The ID alone, in such a VARIABLE. */
const char *runid_of(const char *variable);
