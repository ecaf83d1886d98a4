#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/run.h"

/* In the front: has the supervisor obey ORDER. Lost if it is dead. */
void supervisor_order(const struct run *run, struct order order);

/* Has the front know the news, at once where run.h calls it urgent. Does
 * nothing in a take-over. */
void supervisor_tell(const struct run *run, enum news_kind kind, int value);

/* Makes this process, just forked, the root of its tree: a subreaper with a
 * signalfd and, unless the target is to stay in the caller's session, the
 * leader of a new session. Returns 0, or -1 with errno. */
int supervisor_prepare(struct run *run);

/* Once the target is forked: leaves the caller's session, and notes where the
 * command writes to. */
void supervisor_begin(struct run *run);

/* Sleeps until UNTIL, an order, a death, or the loss of the front or of the
 * parent. Takes the orders. Returns the time. Only this call sleeps without a
 * bound. */
int64_t supervisor_wait(struct run *run, int64_t until);

/* At NOW: reaps, follows the target's stops, attends to the clocks. Changes no
 * state. */
void supervisor_attend(struct run *run, int64_t now);

/* Reaps the dead, and notes the death of the target. */
void supervisor_reap(struct run *run, int64_t now);

/* Whether tree or output were active since the last call. */
bool supervisor_sees_progress(struct run *run);

/* Continues a front that was stopped with its job, so that the front ends. */
void supervisor_continue_front(struct run *run);
