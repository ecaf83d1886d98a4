#ifndef WDRUN_COPYIST_H
#define WDRUN_COPYIST_H

struct run;

/* The copyist of --tee (see copy.h), as the front sees it. Without --tee, all
 * of this does nothing. */

/* Starts it. Returns 0, or -1 with errno of fork(2). */
int copyist_start(struct run *run);

/*
 * Ends it, when the relays have ended and with them what there is to copy. A
 * file has that at once; a reader of a FIFO may need time, and gets ten seconds
 * as long as it takes something in each. What is not taken is told.
 */
void copyist_end(struct run *run);

#endif
