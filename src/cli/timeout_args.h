#pragma once

#include <stdbool.h>

struct options;

/* The command line of timeout(1), for a wdrun that was started as "timeout": as
 * in POSIX.1-2024, timeout, and GNU coreutils 9. For what timeout(1) does
 * otherwise at run time, struct options has policies. */

/* Whether ARGUMENT0, argv[0] of wdrun or NULL, ends with "timeout":
 * "/opt/bin/timeout", or "wdrun-timeout" beside the system's timeout. */
bool timeout_args_apply(const char *argument0);

/* Parses ARGV into *OPTIONS, which holds wdrun's defaults. Messages then begin
 * with "timeout: ", and the timeout's signal has its default disposition.
 * Returns like options_read(). */
int timeout_args_read(struct options *options, int argc, char *argv[]);
