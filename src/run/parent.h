#pragma once

struct run;

/* For --die-with-parent: opens a pidfd of the caller's process. Not
 * PR_SET_PDEATHSIG, which comes when the caller's thread ends: prctl(2).
 * Returns 0, or -1 after a message. */
int parent_watch(struct run *run);

/* Notes the children that this process has already, as no part of the tree:
 * "exec wdrun" in a shell leaves it the shell's. Returns as above. */
int parent_note_children(struct run *run);
