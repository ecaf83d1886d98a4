#ifndef WDRUN_SUPERVISOR_H
#define WDRUN_SUPERVISOR_H

#include <stdint.h>

/* What /proc/PID/comm says of a supervisor. */
#define SUPERVISOR_NAME     "wd-supervisor"
#define SUPERVISOR_STOPPING "wd-stopping"

struct run;
struct news;

/* Makes a subreaper with a signalfd out of a supervisor just forked, before
 * there is a target. Returns 0, or -1 with errno. */
int supervisor_begin(struct run *run);

/* Lets go of all that is the caller's: session, descriptors, directory. Comes
 * after the fork of the target, off its way to exec. */
void supervisor_settle(struct run *run);

/* The one place that sleeps: until DEADLINE, a signal, or the loss of the front
 * or the caller. What it was is in *NEWS. */
void supervisor_wait(struct run *run, int64_t deadline, struct news *news);

/* Deals with what changes no state: reaps orphans, passes signals on, stops and
 * continues the tree with its terminal. Completes *NEWS. */
void supervisor_attend(struct run *run, struct news *news);

/* Sends SIGNAL to all of the tree. */
void supervisor_signal_tree(struct run *run, int signal);

/* Sends SIGNAL to the target's group, or to the target alone where the group is
 * the caller's. */
void supervisor_forward(const struct run *run, int signal);

/* Notes what the survivors do, to be compared by the next look at them. */
void supervisor_sample(struct run *run, int64_t now);

/* Shows by this process's name that the run is being stopped, to who lists the
 * runs on record. */
void supervisor_show_stopping(const struct run *run);

/* Sets when a tree that has got its first signal is to be killed: after
 * --kill-after; and what a timeout's dead command has left, soon. */
void supervisor_set_kill_clock(struct run *run, int64_t now);

/* Begins to kill the tree, and sets the bound on that. */
void supervisor_start_killing(struct run *run, int64_t now);

#endif
