#pragma once

#include "cli/command_line.h"

/* wdrun's own options, in the order of --help. */
extern const struct option_table options_table;

/*
 * Reads the command line ARGV into *OPTIONS, which gets the default of each
 * option that is not given. Under a name of timeout(1) (cli/timeout_args.h) the
 * options are those of timeout(1). options->command points to the first
 * operand, COMMAND. Returns as command_line_read.
 */
int options_read(struct options *options, int argc, char *argv[]);
