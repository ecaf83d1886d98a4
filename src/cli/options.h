#pragma once

#include "cli/command_line.h"

/* wdrun's own options, in the order of --help. */
extern const struct option_table options_table;

/* Parses ARGV, a command line of wdrun or of timeout(1) (cli/timeout_args.h),
 * into *OPTIONS. Options that are not given get their default. options->command
 * points to COMMAND in ARGV. Returns like command_line_read(). */
int options_read(struct options *options, int argc, char *argv[]);
