#ifndef WDRUN_OPTIONS_H
#define WDRUN_OPTIONS_H

struct options;

#define OPTIONS_ARE_COMPLETE (-1)

/*
 * Reads the command line into *OPTIONS, defaults where nothing is said; stops
 * at the first operand, COMMAND. Returns OPTIONS_ARE_COMPLETE, or the status
 * to exit with: after --help and --version 0, and after one line on stderr
 * that names the option, the value and what is accepted, 125.
 */
int options_read(struct options *options, int argc, char *argv[]);

#endif
