/* The system call that a process is in, as /proc/PID/syscall has it. */
#include "systemcall.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define RUNNING      "running\n"
#define HEXADECIMAL  16
#define LOWEST_STACK (UINT64_C(1) << 32)
#define SIGN_OF_INT  (UINT64_C(1) << 31)

/* Those of 32 bits have other numbers (and are seldom met). */
#ifdef __LP64__

struct kind_of {
	short number;
	unsigned char kind;
};

/* arm64 has none of the older calls that a newer one can stand in for. */
static const struct kind_of kinds[] = {
	{ SYS_read, SYSTEMCALL_READ },
	{ SYS_readv, SYSTEMCALL_READ },
	{ SYS_pread64, SYSTEMCALL_READ },
	{ SYS_preadv, SYSTEMCALL_READ },
	{ SYS_preadv2, SYSTEMCALL_READ },
	{ SYS_recvfrom, SYSTEMCALL_READ },
	{ SYS_recvmsg, SYSTEMCALL_READ },
	{ SYS_recvmmsg, SYSTEMCALL_READ },
	{ SYS_write, SYSTEMCALL_WRITE },
	{ SYS_writev, SYSTEMCALL_WRITE },
	{ SYS_pwrite64, SYSTEMCALL_WRITE },
	{ SYS_pwritev, SYSTEMCALL_WRITE },
	{ SYS_pwritev2, SYSTEMCALL_WRITE },
	{ SYS_sendto, SYSTEMCALL_WRITE },
	{ SYS_sendmsg, SYSTEMCALL_WRITE },
	{ SYS_sendmmsg, SYSTEMCALL_WRITE },
	{ SYS_splice, SYSTEMCALL_MOVE },
	{ SYS_tee, SYSTEMCALL_MOVE },
	{ SYS_sendfile, SYSTEMCALL_MOVE },
	{ SYS_copy_file_range, SYSTEMCALL_MOVE },
	{ SYS_fsync, SYSTEMCALL_SYNC },
	{ SYS_fdatasync, SYSTEMCALL_SYNC },
	{ SYS_connect, SYSTEMCALL_CONNECT },
	{ SYS_accept, SYSTEMCALL_ACCEPT },
	{ SYS_accept4, SYSTEMCALL_ACCEPT },
	{ SYS_openat, SYSTEMCALL_OPEN },
	{ SYS_openat2, SYSTEMCALL_OPEN },
	{ SYS_flock, SYSTEMCALL_LOCK },
	{ SYS_fcntl, SYSTEMCALL_LOCK },
	{ SYS_futex, SYSTEMCALL_FUTEX },
	{ SYS_wait4, SYSTEMCALL_WAIT },
	{ SYS_waitid, SYSTEMCALL_WAIT },
	{ SYS_nanosleep, SYSTEMCALL_SLEEP },
	{ SYS_clock_nanosleep, SYSTEMCALL_SLEEP },
	{ SYS_rt_sigsuspend, SYSTEMCALL_SIGNAL },
	{ SYS_rt_sigtimedwait, SYSTEMCALL_SIGNAL },
	{ SYS_ppoll, SYSTEMCALL_POLL },
	{ SYS_pselect6, SYSTEMCALL_SELECT },
	{ SYS_epoll_pwait, SYSTEMCALL_EPOLL },
	{ SYS_epoll_pwait2, SYSTEMCALL_EPOLL },
	{ SYS_io_uring_enter, SYSTEMCALL_RING },
#ifdef SYS_open
	{ SYS_open, SYSTEMCALL_OPEN },
#endif
#ifdef SYS_creat
	{ SYS_creat, SYSTEMCALL_OPEN },
#endif
#ifdef SYS_pause
	{ SYS_pause, SYSTEMCALL_SIGNAL },
#endif
#ifdef SYS_poll
	{ SYS_poll, SYSTEMCALL_POLL },
#endif
#ifdef SYS_select
	{ SYS_select, SYSTEMCALL_SELECT },
#endif
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, SYSTEMCALL_EPOLL },
#endif
};

static enum systemcall_kind
kind_of_number(int64_t number)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].number == number)
			return (enum systemcall_kind)kinds[i].kind;
	}
	return SYSTEMCALL_OTHER;
}
#else
static enum systemcall_kind
kind_of_number(int64_t number)
{
	(void)number;
	return SYSTEMCALL_OTHER;
}
#endif

/* Reads " 0x7f" at *TEXT into *NUMBER, and moves *TEXT behind it. */
static bool
take_address(const char **text, uint64_t *number)
{
	static const char prefix[] = " 0x";
	const size_t length = sizeof(prefix) - 1;
	char *end;

	if (strncmp(*text, prefix, length) != 0)
		return false;
	/* strtoull(3) takes blanks, signs and another "0x" as well. */
	const size_t digits = strspn(*text + length, "0123456789abcdef");

	*number = strtoull(*text + length, &end, HEXADECIMAL);
	if (digits == 0 || end != *text + length + digits)
		return false;
	*text = end;
	return true;
}

int
systemcall_parse(const char *text, struct systemcall *call)
{
	char *end;

	errno = EINVAL;
	*call = (struct systemcall){ .is_running = strcmp(text, RUNNING) == 0 };
	if (call->is_running)
		return 0;
	call->number = strtoll(text, &end, 10);
	if (end == text || call->number < -1)
		return -1;
	text = end;
	for (int i = 0; call->number != -1 && i < SYSTEMCALL_ARGUMENTS; i++) {
		if (!take_address(&text, &call->arguments[i]))
			return -1;
	}
	if (!take_address(&text, &call->stack) ||
	    !take_address(&text, &call->code) || strcmp(text, "\n") != 0)
		return -1;
	return 0;
}

enum systemcall_kind
systemcall_kind(const struct systemcall *call)
{
	/* Whose stack is that low is one of 32 bits, or looks like it. */
	if (call->is_running || call->stack < LOWEST_STACK)
		return SYSTEMCALL_OTHER;

	const int operation = (int)call->arguments[1];

	if (call->number == SYS_fcntl && operation != F_SETLKW &&
	    operation != F_OFD_SETLKW)
		return SYSTEMCALL_OTHER;
	return kind_of_number(call->number);
}

bool
systemcall_has_timeout(const struct systemcall *call, enum systemcall_kind kind)
{
	const uint64_t timeout =
	    call->arguments[kind == SYSTEMCALL_POLL     ? 2
	                    : kind == SYSTEMCALL_SELECT ? 4
	                                                : 3];

	/* The address of a time; or, below, a number of milliseconds. */
	if (call->number == SYS_ppoll || kind == SYSTEMCALL_SELECT ||
	    call->number == SYS_epoll_pwait2)
		return timeout != 0;
	return (timeout & SIGN_OF_INT) == 0;
}

void
systemcall_move(const struct systemcall *call, int *from_fd, int *to_fd)
{
	const uint64_t *const arguments = call->arguments;

	*from_fd = (int)arguments[0];
	*to_fd = (int)arguments[call->number == SYS_tee ? 1 : 2];
	if (call->number == SYS_sendfile) {
		*from_fd = (int)arguments[1];
		*to_fd = (int)arguments[0];
	}
}

int
systemcall_open(const struct systemcall *call, uint64_t *path)
{
#ifdef SYS_open
	if (call->number == SYS_open) {
		*path = call->arguments[0];
		return (int)call->arguments[1];
	}
#endif
#ifdef SYS_creat
	if (call->number == SYS_creat) {
		*path = call->arguments[0];
		return O_WRONLY;
	}
#endif
	*path = call->arguments[1];
	return call->number == SYS_openat ? (int)call->arguments[2] : -1;
}

bool
systemcall_has_directory(const struct systemcall *call)
{
	return (call->number == SYS_openat || call->number == SYS_openat2) &&
	       (int)call->arguments[0] != AT_FDCWD;
}

int
systemcall_wait(const struct systemcall *call)
{
	const int first = (int)call->arguments[0];

	if (call->number == SYS_waitid)
		return first == P_PID ? (int)call->arguments[1] : 0;
	return first > 0 ? first : 0;
}
