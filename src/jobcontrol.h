#ifndef WDRUN_JOBCONTROL_H
#define WDRUN_JOBCONTROL_H

#include "../watchdog.h"

/*
 * Stopping and continuing: the command with its terminal, the front with the
 * command, and the clocks with both. The supervisor's side of it.
 */

/* Notices that the target, which shares the caller's terminal, was stopped or
 * continued, and has the front follow, so that the shell sees its job stop. */
void jobcontrol_follow(struct run *run, int64_t now);

/* The front got SIGNAL, a terminal's stop, and passed it on. */
void jobcontrol_stop(struct run *run, int signal, int64_t now);

/* The front got SIGCONT, and passed it on. */
void jobcontrol_continue(struct run *run, int64_t now);

/* Ends a pause: the clocks go on from where they stood. */
void jobcontrol_resume_clocks(struct run *run, int64_t now);

/* The target goes on, or is dead: nothing stands still any more, the clocks as
 * little as the front. */
void jobcontrol_end(struct run *run, int64_t now);

/* Due at clocks.wake: has the front go on, if it did not say so yet. */
void jobcontrol_wake(struct run *run, int64_t now);

#endif
