#ifndef WDRUN_TARGET_H
#define WDRUN_TARGET_H

#include <sys/types.h>

struct run;

/*
 * Forks the target and has it executed with the caller's own mask,
 * dispositions, descriptors and environment, and WDRUN_ID. Returns 0 with
 * run->target set, or -1 with errno of fork(2). What fails afterwards is in
 * the target's exit status (125, 126, 127) and the testament.
 */
int target_start(struct run *run);

/* Notes in RUN that TARGET is the target; 0 if it was never known. */
void target_note(struct run *run, pid_t target);

#endif
