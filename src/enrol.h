#ifndef WDRUN_ENROL_H
#define WDRUN_ENROL_H

struct run;

/* In the front: notes who that is, for the entry of RUN, if it is to have one.
 * Returns 0, or -1 having told why not. */
int enrol_prepare(struct run *run);

/*
 * Puts RUN on record, if it is to be. In the target, on its way to exec: so the
 * entry is there before COMMAND is, and a file system that hangs holds up a
 * process which has a timeout. Returns 0, or -1 having told why not.
 */
int enrol(const struct run *run);

#endif
