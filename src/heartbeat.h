#ifndef WDRUN_HEARTBEAT_H
#define WDRUN_HEARTBEAT_H

#include <stdint.h>

struct run;

/*
 * --heartbeat: a line on stderr each time that nothing was heard of the command
 * for so long. It is no output of the command's, and resets no clock but its
 * own.
 */

/* Sets the first one, the command having been started at NOW. */
void heartbeat_begin(struct run *run, int64_t now);

/* Has a helper tell, if it is time to, how far the run is. */
void heartbeat_attend(struct run *run, int64_t now);

/* Ends the helper, if it is still at it. */
void heartbeat_end(struct run *run);

#endif
