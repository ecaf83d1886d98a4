#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Signals 1 to 64 as the kernel counts them; a mask has bit N - 1 for signal N.
 * Not a sigset_t: glibc takes out signals 32 and 33, musl 34 too, but the
 * command must get exactly the mask with which wdrun was started. */
#define SIGNAL_MAX 64

#define SIGNAL_NAME_SIZE 16 /* of signal_name(), with the null byte */

/* Blocks every signal and stores the old mask in *OLD. Returns 0, or -1 with
 * errno of rt_sigprocmask(2). */
int signals_block(uint64_t *old);

/* Makes MASK the signal mask. Returns 0, or -1 with errno of rt_sigprocmask(2).
 * Async-signal-safe. */
int signals_set_mask(uint64_t mask);

/* Opens a signalfd(2) for every signal, close-on-exec, not blocking. Returns
 * the descriptor, or -1 with errno of signalfd(2). */
int signals_open(void);

/* Sleeps until a signal comes, for TIME nanoseconds or NEVER at most, and takes
 * the signal into *INFO. All signals have to be blocked. Returns the signal, or
 * -1 with errno EAGAIN (TIME is over) or EINTR. */
int signals_wait(siginfo_t *info, int64_t time);

/* Takes SIGNAL into *INFO, if SIGNAL is pending. Returns whether it was
 * pending. */
bool signals_take(int signal, siginfo_t *info);

/* The mask of the signals that are pending. */
uint64_t signals_pending(void);

/* Whether SIGNAL is pending. */
bool signal_is_pending(int signal);

/* Whether this process ignores SIGNAL, as under nohup(1). */
bool signal_is_ignored(int signal);

/* Whether SIGNAL, from SENDER, is SIGPIPE or SIGXFSZ and comes from a write(2)
 * of this process itself: a message could not be written. */
bool signal_is_by_write(int signal, pid_t sender);

/* Whether SIGNAL asks a run to end: HUP, INT, QUIT, TERM. */
bool signal_is_terminating(int signal);

/* Whether SIGNAL is a terminal's stop: TSTP, TTIN, TTOU. */
bool signal_is_terminal_stop(int signal);

/* Whether a terminal sends SIGNAL to a whole process group, so that the front
 * gets it as well as a target that shares the group. */
bool signal_is_terminals(int signal);

/* Reads a signal's name, in any case, with or without SIG, or its number (1 to
 * 64). RTMIN+N and RTMAX-N count as in the shells' kill -l: RTMIN is 34.
 * Returns the number, or -1 with errno EINVAL. */
int signal_parse(const char *text);

/* Writes "SIGTERM", or "SIG36" for a real-time signal, into TEXT. Returns
 * TEXT. */
char *signal_name(int signal, char text[SIGNAL_NAME_SIZE]);

/* Stops this process by SIGNAL, a terminal's stop that is blocked. Returns when
 * the process is continued; or at once in an orphaned process group, where the
 * kernel ignores such a stop: setpgid(2). */
void signal_stop_by(int signal);

/* Gives SIGNAL its default action. */
void signal_reset(int signal);

/* Ends this process by SIGNAL, without a core dump; or by exit status 128 +
 * SIGNAL where the kernel drops the signal: PID 1 of a namespace is immune to
 * signals that it does not handle, pid_namespaces(7). */
_Noreturn void signal_die_by(int signal);
