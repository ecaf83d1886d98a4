/* Signals: their masks, their names, and dying or stopping by one. */
#include "signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "../watchdog.h"
#include "text.h"

#define ALL_SIGNALS UINT64_MAX

/* Not libc's SIGRTMIN: 34 in glibc, 35 in musl, and what users know is the
 * 34 of "kill -l". */
#define FIRST_REAL_TIME 34

static const struct {
	const char *name;
	int number;
} names[] = {
	{ "HUP", SIGHUP },
	{ "INT", SIGINT },
	{ "QUIT", SIGQUIT },
	{ "ILL", SIGILL },
	{ "TRAP", SIGTRAP },
	{ "ABRT", SIGABRT },
	{ "BUS", SIGBUS },
	{ "FPE", SIGFPE },
	{ "KILL", SIGKILL },
	{ "USR1", SIGUSR1 },
	{ "SEGV", SIGSEGV },
	{ "USR2", SIGUSR2 },
	{ "PIPE", SIGPIPE },
	{ "ALRM", SIGALRM },
	{ "TERM", SIGTERM },
#ifdef SIGSTKFLT
	{ "STKFLT", SIGSTKFLT },
#endif
	{ "CHLD", SIGCHLD },
	{ "CONT", SIGCONT },
	{ "STOP", SIGSTOP },
	{ "TSTP", SIGTSTP },
	{ "TTIN", SIGTTIN },
	{ "TTOU", SIGTTOU },
	{ "URG", SIGURG },
	{ "XCPU", SIGXCPU },
	{ "XFSZ", SIGXFSZ },
	{ "VTALRM", SIGVTALRM },
	{ "PROF", SIGPROF },
	{ "WINCH", SIGWINCH },
	{ "IO", SIGIO },
	{ "PWR", SIGPWR },
	{ "SYS", SIGSYS },
	/* other names, which are read but not written */
	{ "IOT", SIGABRT },
	{ "CLD", SIGCHLD },
	{ "POLL", SIGIO },
};

#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

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
signals_wait(siginfo_t *info)
{
	static const uint64_t all = ALL_SIGNALS;

	return (int)syscall(SYS_rt_sigtimedwait, &all, info, NULL, sizeof(all));
}

bool
signals_take(int signal, siginfo_t *info)
{
	const uint64_t only = bit_of(signal);
	const struct timespec now = { .tv_sec = 0 };

	return syscall(SYS_rt_sigtimedwait, &only, info, &now, sizeof(only)) ==
	       signal;
}

bool
signal_is_pending(int signal)
{
	uint64_t pending = 0;

	return syscall(SYS_rt_sigpending, &pending, sizeof(pending)) == 0 &&
	       (pending & bit_of(signal)) != 0;
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

/* A decimal number from LOW to HIGH, all of TEXT; else -1. */
static int
parse_number(const char *text, int low, int high)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;

	const long number = strtol(text, &end, 10);

	if (errno != 0 || *end != '\0' || number < low || number > high)
		return -1;
	return (int)number;
}

static int
parse_real_time(const char *name)
{
	const int span = SIGNAL_MAX - FIRST_REAL_TIME;

	if (strcasecmp(name, "RTMIN") == 0)
		return FIRST_REAL_TIME;
	if (strcasecmp(name, "RTMAX") == 0)
		return SIGNAL_MAX;

	const bool from_low = strncasecmp(name, "RTMIN+", 6) == 0;

	if (!from_low && strncasecmp(name, "RTMAX-", 6) != 0)
		return -1;

	const int offset = parse_number(name + 6, 0, span);

	if (offset == -1)
		return -1;
	return from_low ? FIRST_REAL_TIME + offset : SIGNAL_MAX - offset;
}

int
signal_parse(const char *text)
{
	const int number = parse_number(text, 1, SIGNAL_MAX);

	if (number != -1)
		return number;

	const char *const name =
	    strncasecmp(text, "SIG", 3) == 0 ? text + 3 : text;

	for (size_t i = 0; i < NAME_COUNT; i++) {
		if (strcasecmp(name, names[i].name) == 0)
			return names[i].number;
	}

	const int real_time = parse_real_time(name);

	if (real_time == -1)
		errno = EINVAL;
	return real_time;
}

char *
signal_name(int signal, char text[SIGNAL_NAME_SIZE])
{
	for (size_t i = 0; i < NAME_COUNT; i++) {
		if (names[i].number == signal) {
			(void)text_format(text, SIGNAL_NAME_SIZE, "SIG%s",
			                  names[i].name);
			return text;
		}
	}
	if (signal == FIRST_REAL_TIME)
		(void)text_format(text, SIGNAL_NAME_SIZE, "SIGRTMIN");
	else if (signal > FIRST_REAL_TIME)
		(void)text_format(text, SIGNAL_NAME_SIZE, "SIGRTMIN+%d",
		                  signal - FIRST_REAL_TIME);
	else
		(void)text_format(text, SIGNAL_NAME_SIZE, "signal %d", signal);
	return text;
}

static void
raise_unblocked(int signal)
{
	(void)kill(getpid(), signal);
	/* It is pending now, and taken before the unblocking returns. */
	(void)change_mask(SIG_UNBLOCK, bit_of(signal), NULL);
	(void)change_mask(SIG_BLOCK, bit_of(signal), NULL);
}

void
signal_stop_by(int signal)
{
	raise_unblocked(signal);
}

_Noreturn void
signal_die_by(int signal)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };

	/*
	 * The command has dumped its core already. A limit of 0 would not
	 * keep a second one from a core_pattern that is a pipe: core(5).
	 */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	(void)sigaction(signal, &by_default, NULL);
	raise_unblocked(signal);
	_exit(STATUS_SIGNAL_BASE + signal);
}
