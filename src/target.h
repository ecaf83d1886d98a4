#ifndef WDRUN_TARGET_H
#define WDRUN_TARGET_H

struct run;

/*
 * Forks the target and has it executed with the caller's own mask,
 * dispositions, descriptors and environment, and WDRUN_ID. Returns 0 with
 * run->target set, or -1 with errno of fork(2). What fails afterwards is in
 * the target's exit status (125, 126, 127) and the testament.
 */
int target_start(struct run *run);

#endif
