#pragma once

#include "cli/command_line.h"

/* wdrun's own options, in the order of --help. */
extern const struct option_table options_table;

/* Reads the command line ARGV, wdrun's or timeout(1)'s (cli/timeout_args.h),
 * into *OPTIONS, with the default of each option that is not given.
 * options->command points to the first operand, COMMAND. Returns as
 * command_line_read. */
int options_read(struct options *options, int argc, char *argv[]);
