#pragma once

struct options;

#define WDRUN_VERSION "0.1.0"

#define OPTIONS_ARE_COMPLETE (-1) /* not an exit status */

/* Parses ARGV into *OPTIONS, which begins with all bytes 0; looks up the paths
 * of --lock and --cleanup, which may hang. Under a name that ends with
 * "timeout", ARGV is a command line of timeout(1), as in POSIX.1-2024 and GNU
 * coreutils 9. Returns the exit status after --help, --version or a message, or
 * OPTIONS_ARE_COMPLETE. */
int options_read(struct options *options, int argc, char *argv[]);
