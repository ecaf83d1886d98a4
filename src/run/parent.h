#pragma once

struct run;

/* For --die-with-parent: opens a pidfd of the caller's process. Not
 * PR_SET_PDEATHSIG, which comes when the caller's thread ends: prctl(2).
 * Returns 0, or -1 after a message. */
int parent_watch(struct run *run);
