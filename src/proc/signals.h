#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Signals 1 to 64 as the kernel counts them; a mask has bit N - 1 for signal N.
 * Not a sigset_t, out of which glibc takes 32 and 33, and musl 34 too: the
 * command is to get exactly the mask that wdrun was started with. */
#define SIGNAL_MAX 64

/* By SIGNAL_TO_STOP the supervisor has the front stop; the value that comes
 * with the signal (sigqueue(3)) is the signal to stop by. A real-time signal,
 * since those are queued: the terminal's own SIGTSTP may be pending. */
#define SIGNAL_TO_STOP SIGNAL_MAX

#define SIGNAL_NAME_SIZE 24 /* holds what signal_name writes */

/* Blocks every signal and stores the mask until then in *OLD. Returns 0, or -1
 * with errno of rt_sigprocmask(2). */
int signals_block(uint64_t *old);

/* Makes MASK the signal mask. Returns 0, or -1 with errno of rt_sigprocmask(2).
 * Async-signal-safe. */
int signals_set_mask(uint64_t mask);

/* A signalfd(2) for every signal, close-on-exec, not blocking. Returns the
 * descriptor, or -1 with errno of signalfd(2). */
int signals_open(void);

/* Sleeps until a signal comes, and takes it into *INFO, for no longer than TIME
 * nanoseconds or NEVER. All signals have to be blocked. Returns the signal, or
 * -1 with errno EAGAIN (TIME is over) or EINTR. */
int signals_wait(siginfo_t *info, int64_t time);

/* Takes SIGNAL into *INFO, if it is pending. Returns whether it was. */
bool signals_take(int signal, siginfo_t *info);

/* Whether SIGNAL is pending. */
bool signal_is_pending(int signal);

/* Whether this process ignores SIGNAL, as under nohup(1). */
bool signal_is_ignored(int signal);

/* Whether SIGNAL, from SENDER, comes of a write(2) of this process itself:
 * SIGPIPE or SIGXFSZ, for a message that could not be written. */
bool signal_is_by_write(int signal, pid_t sender);

/* Whether SIGNAL asks a run to end: HUP, INT, QUIT, TERM. */
bool signal_is_terminating(int signal);

/* Whether SIGNAL is a stop that a terminal makes: TSTP, TTIN, TTOU. */
bool signal_is_terminal_stop(int signal);

/* Whether a terminal sends SIGNAL to a whole process group, so that the front
 * gets it as well as a target that shares the group. */
bool signal_is_terminals(int signal);

/* Reads a signal's name, with or without SIG and in any case, or its number
 * (1 to 64). RTMIN+N and RTMAX-N count as kill -l of the shells does: RTMIN is
 * 34. Returns the number, or -1 with errno EINVAL. */
int signal_parse(const char *text);

/* Writes "SIGTERM", "SIGRTMIN+3", "SIGRTMAX-2" or the like into TEXT, as the
 * shells' kill -l does. Returns TEXT. */
char *signal_name(int signal, char text[SIGNAL_NAME_SIZE]);

/* Stops this process by SIGNAL, a terminal's stop, as if it were not blocked.
 * Returns when the process is continued; or at once where the kernel ignores
 * the stop, in an orphaned process group: setpgid(2). */
void signal_stop_by(int signal);

/* Gives SIGNAL its default action. */
void signal_reset(int signal);

/* Ends this process by SIGNAL, without a core dump. Where that is not possible
 * (PID 1 of a namespace is immune to signals that it does not handle,
 * pid_namespaces(7)), by exit status 128 + SIGNAL. */
_Noreturn void signal_die_by(int signal);
