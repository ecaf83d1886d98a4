#ifndef WDRUN_HELPER_H
#define WDRUN_HELPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "proctree.h"
#include "signals.h"

/* By which a helper is made to end at once, in good order. A real-time signal,
 * which nobody sends to a whole process group by chance. */
#define HELPER_GIVE_UP SIGNAL_MAX

/*
 * Helpers: processes of wdrun's own beside the two watchers, each a child of
 * one of these. They do what may block, so that a watcher never does.
 */

/* Takes PID, a child of this process, for a helper and no part of TREE. */
void helper_add(struct proctree *tree, pid_t pid);

/* Whether PID is a helper that was not reaped yet, so that the number is its
 * own. */
bool helper_is(const struct proctree *tree, pid_t pid);

/* Async-signal-safe. Has the kernel send SIGNAL to this process, just forked,
 * when PARENT is dead; ends it here and now if that is dead already. */
void helper_follow(pid_t parent, int signal);

/* Continues helpers that somebody has stopped. */
void helper_keep_going(const struct proctree *tree);

/* Waits until PID, a helper that is about to end, is dead, and reaps it; not
 * for longer than a fifth of a second. Returns whether it is. */
bool helper_await(struct proctree *tree, pid_t pid);

/* Asks PID, a helper of this process's, by SIGNAL to end, and reaps it. Returns
 * whether it is dead after a fifth of a second. */
bool helper_ask(struct proctree *tree, pid_t pid, int signal);

/*
 * Ends PID, a helper of this process's: by SIGNAL, and after a fifth of a
 * second by SIGKILL. Returns whether it is dead: one that hangs in the kernel
 * is not waited for, it has become what it was to keep from us.
 */
bool helper_end(struct proctree *tree, pid_t pid, int signal);

#endif
