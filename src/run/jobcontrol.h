#pragma once

#include "watchdog.h"

struct run;

/* Job control in the supervisor: the front stops and continues with the
 * command; the timers stand still only while a terminal has stopped both. */

/* Whether a signal of the terminal to the caller's job reaches the target: the
 * target is alive, and in the caller's process group. */
bool jobcontrol_has_target(const struct run *run);

/* If the target was stopped or continued, has the front stop or go on too, so
 * that the caller's shell sees its job stop. */
void jobcontrol_follow(struct run *run, int64_t now);

/* The front has forwarded SIGNAL, a stop, from the terminal if IS_TERMINALS,
 * else from a process. */
void jobcontrol_stop(struct run *run, int signal, bool is_terminals,
                     int64_t now);

/* The front has forwarded SIGCONT. */
void jobcontrol_continue(struct run *run, int64_t now);

/* The target goes on, or is dead: timers and front go on as well. */
void jobcontrol_end(struct run *run, int64_t now);

/* TIMER_WAKE is due: sends SIGCONT to a front that has not answered yet. */
void jobcontrol_wake(struct run *run, int64_t now);

/* The relays do not answer: continues the front, if it is stopped, and has the
 * front continue them. */
void jobcontrol_continue_relays(const struct run *run);
