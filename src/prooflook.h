#ifndef WDRUN_PROOFLOOK_H
#define WDRUN_PROOFLOOK_H

#include "proof.h"

/* For proof.c, and nobody else. */

/* In proof.c: says of SUSPECT what can be said before anybody else is looked
 * at. */
void proof_judge(struct lineup *lineup, struct suspect *suspect);

/*
 * Reads into lineup->now all living processes that began when the run had,
 * sorted by PID, having called proof_judge for each. Returns 0, or -1 with
 * errno.
 *
 * That a sweep finds nobody proves that nobody is left who carries the ID. Say
 * that X is alive at its end, and was not looked at: then it was forked when
 * the walk had passed its PID. The walk had passed its parent's too, which is
 * lower. Had the parent been looked at alive, it would have been found; had it
 * been dead then, the walk would have gone on from there, with X. So it was not
 * looked at either, but forked behind the walk; and so on, up to one who was
 * there when the walk began, and was looked at. Only where PIDs begin anew has
 * a parent the higher one: hence PROOF_EMPTY_SWEEPS.
 */
int proof_look(struct lineup *lineup);

/* That of SUSPECTS, which are sorted, which has PID; or NULL. */
struct suspect *proof_find(const struct suspects *suspects, pid_t pid);

#endif
