#ifndef WDRUN_FRONT_H
#define WDRUN_FRONT_H

struct run;
struct outcome;

/*
 * Passes signals on to the supervisor until that is dead. Returns true if it
 * had done its work, what is to be the end of wdrun being in *VERDICT; false if
 * it was killed before, with RUN ready for the front to go on in its place.
 */
_Bool front_watch(struct run *run, struct outcome *verdict);

/* Ends this process as VERDICT says: by exit, or by the same signal. */
_Noreturn void front_end(struct outcome verdict);

#endif
