#ifndef WDRUN_PRINT_H
#define WDRUN_PRINT_H

#include "message.h"

/* Writes LINE to stdout, all of it. Returns the status to exit with: 0, or 125,
 * having told, if it could not be written. */
int print_line(const struct line *line);

#endif
