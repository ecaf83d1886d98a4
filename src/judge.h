#ifndef WDRUN_JUDGE_H
#define WDRUN_JUDGE_H

#include "../watchdog.h"

/*
 * The decisions of a run. Nothing here acts or asks: all that counts is in the
 * arguments, so that a table can test it.
 */

/* Why RUN should change its state, after NEWS; REASON_NONE if it should not. */
enum reason judge(const struct run *run, const struct news *news);

/* The state that WHY leads to from STATE. */
enum state judge_next_state(enum state state, enum reason why);

/* Whether WHY means that the tree is to be ended. */
bool judge_is_stop(enum reason why);

/* Whether nobody is left who is to be waited for: the tree is empty, or what is
 * left of it is let go. Then at most output is still to be delivered. */
bool judge_is_over(const struct run *run);

/* Whether RUN is to end, from a bound that is over or on somebody's order, so
 * that undelivered output must not hold it up for long. */
bool judge_is_hurried(const struct run *run);

/* Whether a terminating signal is for the tree to make of it what it will, and
 * no stop of ours: that is timeout(1) without --kill-after. */
bool judge_only_passes_on(const struct run *run);

/* The next moment at which RUN has something to do, or NEVER. */
int64_t judge_next_deadline(const struct run *run);

/* How wdrun is to end, once RUN is done. */
struct outcome judge_verdict(const struct run *run);

#endif
