#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>

/* Signals 1 to 64 in masks. Not a sigset_t: glibc takes out 32 and 33, musl 34
 * too, but the command must get exactly the mask of wdrun's start. */
#define SIGNAL_BIT(signal) (UINT64_C(1) << ((signal)-1))
#define SIGNALS_ALL        UINT64_MAX
#define SIGNAL_MAX         64
/* Signals that ask a run to end. */
#define SIGNALS_TERMINATING                                                    \
	(SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT) |       \
	 SIGNAL_BIT(SIGTERM))
/* Signals by which a terminal stops a job. */
#define SIGNALS_OF_STOP                                                        \
	(SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU))
/* Signals by which the kernel tells of a process's own CPU time. */
#define SIGNALS_OF_CPU_TIME                                                    \
	(SIGNAL_BIT(SIGXCPU) | SIGNAL_BIT(SIGPROF) | SIGNAL_BIT(SIGVTALRM))
/* Signals that a terminal sends to a whole process group. */
#define SIGNALS_OF_TERMINAL                                                    \
	(SIGNAL_BIT(SIGHUP) | SIGNAL_BIT(SIGINT) | SIGNAL_BIT(SIGQUIT) |       \
	 SIGNAL_BIT(SIGCONT) | SIGNAL_BIT(SIGWINCH) | SIGNALS_OF_STOP)

/* As sigprocmask(2). */
void signals_mask(int how, uint64_t mask, uint64_t *old);

/* Opens a signalfd(2) for every signal, close-on-exec, not blocking. */
int signals_open(void);

/* As sigtimedwait(2), but without a wait. */
int signals_take(uint64_t mask, siginfo_t *info);

/* Whether this process ignores SIGNAL, as under nohup(1). */
bool signal_is_ignored(int signal);

/* Reads a signal's name, in any case, with or without SIG, or its number (1 to
 * 64). RTMIN+N and RTMAX-N count as in the shells' kill -l: RTMIN is 34.
 * Returns the number, 0 for EXIT, or -1. */
int signal_parse(const char *text);

/* Returns "SIGTERM", or "SIG36", until the next call. */
const char *signal_name(int signal);

/* Lets SIGNAL, which is blocked and pending, act on this process. After a stop,
 * returns when the process is continued; at once in an orphaned process group,
 * where the kernel ignores a terminal's stop: setpgid(2). */
void signal_deliver(int signal);

/* Gives SIGNAL its default action. */
void signal_reset(int signal);

/* Ends this process by the signal NUMBER, without a core dump; as PID 1, to
 * which the kernel drops it, by exit status 128 + NUMBER: pid_namespaces(7). */
_Noreturn void signal_die_by(int number);

/* --- children ------------------------------------------------------------- */

#define ANY_CHILD 0

/* As waitid(2) with WNOHANG, for the child PID or ANY_CHILD: without WNOWAIT in
 * OPTIONS, a dead child is reaped. Returns the PID of the child with an event,
 * and fills *INFO; 0 without an event; -1 without such a child. */
pid_t wait_poll(pid_t pid, int options, siginfo_t *info);

/* Returns the CPU time of all reaped children, in nanoseconds; and in *MEMORY
 * the most that one of them used, in KiB: getrusage(2). */
int64_t wait_usage(long *memory);

/* As pidfd_open(2): unlike a directory in /proc, a pidfd can be polled. */
int pidfd_open(pid_t pid);

/* fork(2) without the seven system calls of libc's, which are a twentieth of a
 * start. libc does not know the child's thread ID: so the child must end by
 * _exit(2), and call neither raise(3), abort(3) nor pthread functions. */
pid_t plain_fork(void);

/* Waits until CHILD (< 2: none) is dead; at UNTIL kills it. Does not reap. */
void wait_or_kill(pid_t child, int64_t until);
