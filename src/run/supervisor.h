#pragma once

#include <stdbool.h>
#include <stdint.h>

struct run;
struct event;
struct statuspipe;

/* Makes this process, just forked, the root of its tree: a subreaper with a
 * signalfd and, unless the target is to stay in the caller's session, the
 * leader of a new session. Returns 0, or -1 with errno. */
int supervisor_prepare(struct run *run);

/* Leaves the caller's session and directory, and closes its descriptors, once
 * the target is forked, which need not wait for this. */
void supervisor_detach(struct run *run);

/* Sends ENTRY through the status pipe, and has the front read an entry that
 * bounds the supervisor's time. Does nothing in the front. */
void supervisor_tell(const struct run *run, const struct statuspipe *entry);

/* Sleeps until DEADLINE, a signal, the loss of the front or of the parent, or a
 * relay's notice, and fills *EVENT. Only this call sleeps without a bound. */
void supervisor_wait(struct run *run, int64_t deadline, struct event *event);

/* Does all that changes no state: reaps orphans, forwards signals, stops and
 * continues the tree with its terminal, and signals new orphans of a stop. */
void supervisor_attend(struct run *run, const struct event *event);

/* A stop begins: resumes the timers, and takes the name by which --list sees
 * that the run is being stopped. */
void supervisor_begin_stop(struct run *run, int64_t now);

/* Sets when SIGKILL follows the first signal of a stop: after --kill-after, or
 * where only survivors are left after ORPHANS_GRACE, if that is sooner. */
void supervisor_set_kill_timer(struct run *run, int64_t now);

/* Kills the tree, in 30 seconds at most. Then run->tree_is_empty says whether
 * all are dead. */
void supervisor_kill(struct run *run);
