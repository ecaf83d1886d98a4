#ifndef WDRUN_CALLER_H
#define WDRUN_CALLER_H

struct run;

/* Both return 0, or -1 having told what cannot be had. */

/* For --die-with-parent: watches the caller by a pidfd, since PR_SET_PDEATHSIG
 * follows a thread. */
int caller_watch(struct run *run);

/* Notes the children that there are already: an exec without a fork leaves us
 * some that are none of the command's. */
int caller_note_strangers(struct run *run);

#endif
