#ifndef WDRUN_LOCKS_H
#define WDRUN_LOCKS_H

#define LOCKS_ARE_TAKEN (-1) /* no exit status */

struct run;

/* Looks whether all that --lock names can be lock files. Returns 0, or -1 when
 * it has told which cannot. Touches nothing, and may hang where a file system
 * does. */
int locks_check(const struct run *run);

/*
 * Takes all the locks of RUN's estate, or none: never does it wait for one
 * while it holds another, so no two runs wait for each other. Waits as long as
 * --lock-wait says. Returns LOCKS_ARE_TAKEN, or the status with which wdrun is
 * to end, having told why. A signal that ends the wait ends this process.
 */
int locks_take(struct run *run);

/* Writes the supervisor's PID into the locks, in the place of a front that is
 * dead. May hang where a file system does. */
void locks_hand_over(struct run *run);

/* Removes and releases the locks. May hang as well. */
void locks_release(struct run *run);

#endif
