#ifndef WDRUN_PLUMBING_H
#define WDRUN_PLUMBING_H

#include <stdbool.h>

struct run;

/* Whether the options of RUN need to see the output. */
bool plumbing_is_needed(const struct run *run);

/*
 * Opens, in the front, all that relays and keyboard need: pipes or terminals,
 * the copy, shared memory. Comes after descriptors_open_null() and before there
 * is a second process. Returns 0; or -1, having told what cannot be had.
 */
int plumbing_lay(struct run *run);

#endif
