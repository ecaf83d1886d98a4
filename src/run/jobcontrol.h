#pragma once

#include "watchdog.h"

struct run;

/*
 * Job control, from the supervisor's side: the front stops and goes on with the
 * command, and the timers with both where a terminal has stopped it.
 */

/* Whether what a terminal sends to the caller's job reaches the target: it is
 * alive, and in the caller's process group. */
bool jobcontrol_has_target(const struct run *run);

/* Where the target was stopped or continued, has the front do the same, so that
 * the shell sees its job stop. */
void jobcontrol_follow(struct run *run, int64_t now);

/* The front has forwarded SIGNAL, a stop, from its terminal or from a process.
 */
void jobcontrol_stop(struct run *run, int signal, bool is_terminals,
                     int64_t now);

/* The front has forwarded SIGCONT. */
void jobcontrol_continue(struct run *run, int64_t now);

/* The target goes on, or is dead: timers and front go on as well. */
void jobcontrol_end(struct run *run, int64_t now);

/* TIMER_WAKE is due: sends SIGCONT to a front that has not answered yet. */
void jobcontrol_wake(struct run *run, int64_t now);

/* The relays do not answer: has the front go on, if it is stopped, and continue
 * the relays that are stopped with it. */
void jobcontrol_continue_relays(const struct run *run);
