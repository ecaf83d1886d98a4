#pragma once

#include <stdbool.h>

struct options;

/* The command line of timeout(1), which wdrun takes under that name: as in
 * POSIX.1-2024, timeout, and in GNU coreutils 9. What timeout(1) does otherwise
 * at run time are policies in struct options. */

/* Whether ARGUMENT0, the name by which wdrun was started (or NULL), ends with
 * "timeout": "/opt/bin/timeout", or "wdrun-timeout" beside the system's own. */
bool timeout_args_apply(const char *argument0);

/* Reads the command line into *OPTIONS, which holds wdrun's defaults. From then
 * on messages begin with "timeout: ", and the signal of the timeout is not
 * ignored. Returns as options_read. */
int timeout_args_read(struct options *options, int argc, char *argv[]);
