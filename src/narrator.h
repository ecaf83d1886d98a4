#ifndef WDRUN_NARRATOR_H
#define WDRUN_NARRATOR_H

#include "../watchdog.h"

/*
 * The narrator: a child of a watcher that finds out what is to be told of a
 * stop, and prints it. What it reads may never answer: a process's command line
 * is behind a lock that a thread in state D can hold, stderr may be a pipe that
 * nobody reads. So it may hang, and the watcher does not wait for it for long.
 */

/*
 * Has told why RUN goes to NEXT, naming the processes of its tree as it was
 * last read. Returns when these were named, so that they may be signalled; at
 * most after a fifth of a second, or after half a second where it is told what
 * each of them is blocked in.
 */
void narrator_start(struct run *run, enum state next, enum reason why);

/* Gives the narrator a last moment to print, then ends it. */
void narrator_finish(struct run *run);

#endif
