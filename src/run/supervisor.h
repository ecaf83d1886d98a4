#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct event;

/* Makes this process, just forked, the root of its tree: a subreaper with a
 * signalfd and, unless the target is to stay in the caller's session, the
 * leader of a new session. Returns 0, or -1 with errno. */
int supervisor_prepare(struct run *run);

/* Leaves the caller's session and directory, and closes its descriptors, once
 * the target is forked, which need not wait for this. */
void supervisor_detach(struct run *run);

/* Sleeps until DEADLINE, a signal, the loss of the front or of the parent, or a
 * relay's notice, and fills *EVENT. Only this call sleeps without a bound. */
void supervisor_wait(struct run *run, int64_t deadline, struct event *event);

/* Does all that changes no state: reaps orphans, forwards signals, stops and
 * continues the tree with its terminal, and sends the next SIGKILLs. */
void supervisor_attend(struct run *run, const struct event *event);

/* Whether all processes are dead, but a tracer keeps the death of a child from
 * waitid(2) (ptrace(2)): notes zombie and tracer in run->sweep. */
bool supervisor_finds_tracer(struct run *run);

/* A stop begins: resumes the timers, and takes the name by which --list sees
 * that the run is being stopped. */
void supervisor_begin_stop(struct run *run, int64_t now);

/* Sets when SIGKILL follows the first signal of a stop: after --kill-after, or
 * where only survivors are left after ORPHANS_GRACE, if that is sooner. */
void supervisor_set_kill_timer(struct run *run, int64_t now);

/* Sends the first SIGKILLs to the tree, and bounds the time for all of them. */
void supervisor_start_killing(struct run *run, int64_t now);
