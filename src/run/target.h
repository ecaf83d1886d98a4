#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct run;
struct target;

/*
 * Blocks all signals and resets SIGCHLD, so that this process can watch, and
 * notes for the target what both were. Decides whether the target stays in the
 * caller's job, and notes the modes of the terminal then. Returns 0, or -1
 * after a message.
 */
int target_prepare(struct run *run);

/*
 * Forks the target and has it execute COMMAND with the caller's own signal
 * mask, dispositions, descriptors and environment, and with WDRUN_ID. Returns 0
 * with run->target.pid set, or -1 with errno of fork(2). What fails after the
 * fork is in the target's exit status (125, 126, 127) and in the status pipe.
 */
int target_start(struct run *run);

/* Notes in RUN that PID is the target; 0 where that is not known. */
void target_note(struct run *run, pid_t pid);

/*
 * Notes that TARGET has exited, BY_ITSELF where nothing had been done to end
 * it. INFO is what waitid(2) says of it; or NULL, where that will never be
 * known.
 */
void target_note_exit(struct target *target, const siginfo_t *info,
                      bool by_itself);

/* Sends SIGNAL to the process group that the target leads, or to the target
 * alone where it leads none. Does nothing where there is no target. */
void target_signal(const struct target *target, int signal);
