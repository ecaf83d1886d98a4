/* Signals: masks, names, and death by a signal; and children. */
#include "proc/signals.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/kernel.h"
#include "base/status.h"

/* RTMIN of glibc and of "kill -l"; musl's SIGRTMIN is 35. */
#define FIRST_REAL_TIME 34

/* Some have a second name, behind the null byte of the first. */
static const char names[FIRST_REAL_TIME][12] = {
	[0] = "EXIT", /* as for kill(1) */
	[SIGHUP] = "HUP",       [SIGINT] = "INT",
	[SIGQUIT] = "QUIT",     [SIGILL] = "ILL",
	[SIGTRAP] = "TRAP",     [SIGABRT] = "ABRT\0IOT",
	[SIGBUS] = "BUS",       [SIGFPE] = "FPE",
	[SIGKILL] = "KILL",     [SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV",     [SIGUSR2] = "USR2",
	[SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM",
	[SIGTERM] = "TERM",     [SIGCHLD] = "CHLD\0CLD",
	[SIGCONT] = "CONT",     [SIGSTOP] = "STOP",
	[SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN",
	[SIGTTOU] = "TTOU",     [SIGURG] = "URG",
	[SIGXCPU] = "XCPU",     [SIGXFSZ] = "XFSZ",
	[SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",
	[SIGWINCH] = "WINCH",   [SIGIO] = "IO\0POLL",
	[SIGPWR] = "PWR",       [SIGSYS] = "SYS",
#ifdef SIGSTKFLT /* MIPS has none */
	[SIGSTKFLT] = "STKFLT",
#endif
};

void
signals_mask(int how, uint64_t mask, uint64_t *old)
{
	const struct kernel_signals set = { .mask = mask };
	struct kernel_signals before = { .mask = 0 };

	(void)syscall(SYS_rt_sigprocmask, how, &set, &before,
	              KERNEL_SIGNALS_SIZE);
	if (old != NULL)
		*old = before.mask;
}

int
signals_open(void)
{
	static const struct kernel_signals all = { .mask = SIGNALS_ALL };

	return (int)syscall(SYS_signalfd4, -1, &all, KERNEL_SIGNALS_SIZE,
	                    SFD_CLOEXEC | SFD_NONBLOCK);
}

int
signals_take(uint64_t mask, siginfo_t *info)
{
	const struct kernel_signals set = { .mask = mask };
	const struct kernel_time at_once = { 0 };

	return (int)syscall(CALL_SIGTIMEDWAIT, &set, info, &at_once,
	                    KERNEL_SIGNALS_SIZE);
}

bool
signal_is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

int
signal_parse(const char *text)
{
	const char *const name =
	    strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;
	char *end;

	for (int i = 0; i < FIRST_REAL_TIME; i++) {
		const char *const second = names[i] + strlen(names[i]) + 1;

		if (*name != '\0' && (strcasecmp(name, names[i]) == 0 ||
		                      strcasecmp(name, second) == 0))
			return i;
	}

	/* The number alone, or behind RTMIN or RTMAX and with its sign. */
	const long base = strncasecmp(name, "RTMIN", 5) == 0   ? FIRST_REAL_TIME
	                  : strncasecmp(name, "RTMAX", 5) == 0 ? SIGNAL_MAX
	                                                       : 0;
	const long first = base == 0 ? 1 : FIRST_REAL_TIME;
	const long number = strtol(base == 0 ? text : name + 5, &end, 10);

	if (*end == '\0' && number >= first - base &&
	    number <= SIGNAL_MAX - base)
		return (int)(base + number);
	return -1;
}

const char *
signal_name(int signal)
{
	static char text[16];

	if (signal > 0 && signal < FIRST_REAL_TIME && names[signal][0] != '\0')
		(void)snprintf(text, sizeof(text), "SIG%s", names[signal]);
	else
		(void)snprintf(text, sizeof(text), "SIG%d", signal);
	return text;
}

void
signal_deliver(int signal)
{
	/* It is delivered before the unblocking returns. */
	signals_mask(SIG_UNBLOCK, SIGNAL_BIT(signal), NULL);
	signals_mask(SIG_BLOCK, SIGNAL_BIT(signal), NULL);
}

void
signal_reset(int signal)
{
	/* The kernel's struct sigaction, which no header declares: SIG_DFL is
	 * all zero. musl's sigaction(3) refuses 32 to 34, glibc's 32 and 33. */
	static const uint64_t by_default[8] = { 0 };

	(void)syscall(SYS_rt_sigaction, signal, by_default, NULL,
	              KERNEL_SIGNALS_SIZE);
}

_Noreturn void
signal_die_by(int number)
{
	/* The command has dumped its core. RLIMIT_CORE 0 would not stop another
	 * dump into a core_pattern that is a pipe: core(5). */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal_reset(number);
	(void)kill(getpid(), number);
	signal_deliver(number);
	_exit(STATUS_SIGNAL_BASE + number);
}

/* --- children ------------------------------------------------------------- */

pid_t
wait_poll(pid_t pid, int options, siginfo_t *info)
{
	info->si_pid = 0;
	return waitid(pid == ANY_CHILD ? P_ALL : P_PID, (id_t)pid, info,
	              options | WNOHANG) == -1
	           ? -1
	           : info->si_pid;
}

int64_t
wait_usage(long *memory)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	*memory = usage.ru_maxrss;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
	           (MILLISECOND / 1000);
}

int
pidfd_open(pid_t pid)
{
	return (int)syscall(CALL_PIDFD_OPEN, pid, 0);
}

pid_t
plain_fork(void)
{
#ifdef __s390__ /* there, the stack is the first argument: clone(2) */
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

void
wait_or_kill(pid_t child, int64_t until)
{
	siginfo_t end;

	/* Not by a pidfd, which a sandbox may refuse. */
	while (child > 1 && wait_poll(child, WEXITED | WNOWAIT, &end) == 0) {
		if (duration_now() >= until) {
			(void)kill(child, SIGKILL);
			return;
		}
		duration_sleep(MILLISECOND / 4);
	}
}
