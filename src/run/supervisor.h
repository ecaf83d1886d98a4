#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct event;

/* Makes this process, just forked, the root of its tree, a subreaper with a
 * signalfd and, unless the target is to stay in the caller's, the leader of a
 * session, before it has a target. Returns 0, or -1 with errno. */
int supervisor_prepare(struct run *run);

/* Lets go of the caller's session, descriptors and directory, after the fork of
 * the target, which need not wait for this. */
void supervisor_detach(struct run *run);

/* Sleeps until DEADLINE, a signal, the loss of the front or of the parent, or a
 * relay's notice, and fills *EVENT. No other call sleeps without a bound. */
void supervisor_wait(struct run *run, int64_t deadline, struct event *event);

/* Does what changes no state: reaps orphans, forwards signals, stops and
 * continues the tree with its terminal, and goes on with killing. */
void supervisor_attend(struct run *run, const struct event *event);

/* Whether all are dead, and a tracer keeps the end of a child of this process
 * from waitid(2), ptrace(2): notes both in run->sweep. */
bool supervisor_finds_tracer(struct run *run);

/* A stop begins: the timers go on, and the name of this process shows --list
 * that the run is being stopped. */
void supervisor_begin_stop(struct run *run, int64_t now);

/* Sets when SIGKILL follows the first signal of a stop: after --kill-after, or
 * sooner for what a dead command has left behind at a timeout. */
void supervisor_set_kill_timer(struct run *run, int64_t now);

/* Begins to kill the tree, as it was last read, and bounds how long that may
 * take. */
void supervisor_start_killing(struct run *run, int64_t now);
