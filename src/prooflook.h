#ifndef WDRUN_PROOFLOOK_H
#define WDRUN_PROOFLOOK_H

#include "proof.h"

/* For proof.c, and nobody else. */

/* Reads into lineup->now all processes that began when the run had, with no
 * standing yet, sorted by PID. Returns 0, or -1 with errno. */
int proof_look(struct lineup *lineup);

/* That of SUSPECTS, which are sorted, which has PID; or NULL. */
struct suspect *proof_find(const struct suspects *suspects, pid_t pid);

#endif
