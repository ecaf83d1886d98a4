#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct exec_failure;
struct options;
struct run;
struct target;

/* Blocks all signals and resets SIGCHLD, so that this process can watch, and
 * notes mask and disposition for the target. Decides whether the target stays
 * in the caller's job, and if so, notes the terminal's modes. Returns 0, or -1
 * after a message. */
int target_prepare(struct run *run);

/* Notes what the terminal has sent to the job, right before a fork. */
void target_note_early_signals(struct target *target);

/* Forks the target and has it execute COMMAND with the caller's own signal
 * mask, dispositions, descriptors and environment, and with WDRUN_ID. Returns 0
 * with run->target.pid set, or -1 with errno of fork(2). The target's exit
 * status (125, 126, 127) and the facts tell of a failure after that. */
int target_start(struct run *run);

/* Notes in RUN that PID is the target's; 0: not known. */
void target_note(struct run *run, pid_t pid);

/* Notes that TARGET has exited, BY_ITSELF if nothing had been done to end it.
 * INFO is from waitid(2). */
void target_note_exit(struct target *target, const siginfo_t *info,
                      bool by_itself);

/* Sends SIGNAL to the process group that the target leads, else to the target
 * alone. Does nothing if the target's PID is not known. */
void target_signal(const struct target *target, int signal);

/* Prints why COMMAND could not be executed, and what may have been meant. */
void target_tell_failure(const struct options *options,
                         const struct exec_failure *failure);
