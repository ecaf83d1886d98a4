/* Signals: masks, names, and dying or stopping by a signal. */
#include "proc/signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/status.h"

#define ALL_SIGNALS UINT64_MAX

/* RTMIN of glibc and of "kill -l"; musl's SIGRTMIN is 35. */
#define FIRST_REAL_TIME 34
#ifndef SIGSTKFLT /* on mips, sparc, alpha and parisc there is none */
#define SIGSTKFLT 0
#endif

static const char names[FIRST_REAL_TIME][8] = {
	[SIGSTKFLT] = "STKFLT", [SIGHUP] = "HUP",       [SIGINT] = "INT",
	[SIGQUIT] = "QUIT",     [SIGILL] = "ILL",       [SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT",     [SIGBUS] = "BUS",       [SIGFPE] = "FPE",
	[SIGKILL] = "KILL",     [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV",
	[SIGUSR2] = "USR2",     [SIGPIPE] = "PIPE",     [SIGALRM] = "ALRM",
	[SIGTERM] = "TERM",     [SIGCHLD] = "CHLD",     [SIGCONT] = "CONT",
	[SIGSTOP] = "STOP",     [SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN",
	[SIGTTOU] = "TTOU",     [SIGURG] = "URG",       [SIGXCPU] = "XCPU",
	[SIGXFSZ] = "XFSZ",     [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",
	[SIGWINCH] = "WINCH",   [SIGIO] = "IO",         [SIGPWR] = "PWR",
	[SIGSYS] = "SYS"
};

static uint64_t
bit_of(int signal)
{
	return UINT64_C(1) << (signal - 1);
}

static int
change_mask(int how, uint64_t set, uint64_t *old)
{
	return (int)syscall(SYS_rt_sigprocmask, how, &set, old, sizeof(set));
}

int
signals_block(uint64_t *old)
{
	return change_mask(SIG_SETMASK, ALL_SIGNALS, old);
}

int
signals_set_mask(uint64_t mask)
{
	return change_mask(SIG_SETMASK, mask, NULL);
}

int
signals_open(void)
{
	static const uint64_t all = ALL_SIGNALS;

	return (int)syscall(SYS_signalfd4, -1, &all, sizeof(all),
	                    SFD_CLOEXEC | SFD_NONBLOCK);
}

int
signals_wait(siginfo_t *info, int64_t time)
{
	static const uint64_t all = ALL_SIGNALS;
	const struct timespec bound = { time / SECOND, time % SECOND };

	return (int)syscall(SYS_rt_sigtimedwait, &all, info,
	                    time == NEVER ? NULL : &bound, sizeof(all));
}

bool
signals_take(int signal, siginfo_t *info)
{
	const uint64_t only = bit_of(signal);
	const struct timespec now = { .tv_sec = 0 };

	return syscall(SYS_rt_sigtimedwait, &only, info, &now, sizeof(only)) ==
	       signal;
}

uint64_t
signals_pending(void)
{
	uint64_t pending = 0;

	(void)syscall(SYS_rt_sigpending, &pending, sizeof(pending));
	return pending;
}

bool
signal_is_pending(int signal)
{
	return (signals_pending() & bit_of(signal)) != 0;
}

bool
signal_is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

bool
signal_is_by_write(int signal, pid_t sender)
{
	return (signal == SIGPIPE || signal == SIGXFSZ) && sender == getpid();
}

bool
signal_is_terminating(int signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGTERM;
}

bool
signal_is_terminal_stop(int signal)
{
	return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

bool
signal_is_terminals(int signal)
{
	return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
	       signal == SIGCONT || signal == SIGWINCH ||
	       signal_is_terminal_stop(signal);
}

/* TEXT as a decimal number from 0 to SIGNAL_MAX, or -1. */
static int
parse_number(const char *text)
{
	char *end;
	const unsigned long number = strtoul(text, &end, 10);

	return isdigit((unsigned char)*text) && *end == '\0' &&
	               number <= SIGNAL_MAX
	           ? (int)number
	           : -1;
}

/* Returns a signal, or a number that is none. */
static int
parse_name(const char *name)
{
	for (int i = 1; i < FIRST_REAL_TIME; i++) {
		if (names[i][0] != '\0' && strcasecmp(name, names[i]) == 0)
			return i;
	}

	const bool is_low = strncasecmp(name, "RTMIN", 5) == 0;
	const int from = is_low ? FIRST_REAL_TIME : SIGNAL_MAX;

	if (!is_low && strncasecmp(name, "RTMAX", 5) != 0)
		return -1;
	if (name[5] == '\0')
		return from;
	if (name[5] != (is_low ? '+' : '-'))
		return -1;

	const int offset = parse_number(name + 6);

	if (offset == -1 || offset > SIGNAL_MAX - FIRST_REAL_TIME)
		return -1;
	return is_low ? from + offset : from - offset;
}

int
signal_parse(const char *text)
{
	int signal = parse_number(text);

	if (signal == -1)
		signal = parse_name(strncasecmp(text, "SIG", 3) == 0 ? text + 3
		                                                     : text);
	if (signal > 0)
		return signal;
	errno = EINVAL;
	return -1;
}

char *
signal_name(int signal, char text[SIGNAL_NAME_SIZE])
{
	if (signal > 0 && signal < FIRST_REAL_TIME && names[signal][0] != '\0')
		(void)snprintf(text, SIGNAL_NAME_SIZE, "SIG%s", names[signal]);
	else
		(void)snprintf(text, SIGNAL_NAME_SIZE, "SIG%d", signal);
	return text;
}

void
signal_stop_by(int signal)
{
	(void)kill(getpid(), signal);
	/* SIGNAL is pending now, and is delivered before the unblocking
	 * returns. */
	(void)change_mask(SIG_UNBLOCK, bit_of(signal), NULL);
	(void)change_mask(SIG_BLOCK, bit_of(signal), NULL);
}

void
signal_reset(int signal)
{
	/* The kernel's struct sigaction, which no header declares: SIG_DFL is
	 * all zero. The C libraries use some signals themselves: musl's
	 * sigaction(3) refuses 32 to 34, glibc's 32 and 33. */
	static const uint64_t by_default[8] = { 0 };

	(void)syscall(SYS_rt_sigaction, signal, by_default, NULL,
	              sizeof(uint64_t));
}

_Noreturn void
signal_die_by(int signal)
{
	/* The command has dumped its core already. RLIMIT_CORE 0 would not stop
	 * a second dump into a core_pattern that is a pipe: core(5). */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signal_reset(signal);
	signal_stop_by(signal);
	_exit(STATUS_SIGNAL_BASE + signal);
}
