/* What a process waits for, from the system call in /proc/PID/syscall. */
#include "inspect/syscall.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"

#define RUNNING      "running\n"
#define LOWEST_STACK (UINT64_C(1) << 32)
#define SIGN_OF_INT  (UINT64_C(1) << 31)

/* A system call, and the indices of the arguments that say what the call waits
 * for. No call has flags or a time limit in argument 0. */
struct form {
	short number;
	unsigned char kind;
	unsigned char fd;
	unsigned char to_fd;
	unsigned char path; /* if not 0, argument 0 is the directory */
	unsigned char flags;
	signed char fixed_flags; /* if FLAGS is 0 */
	unsigned char child;     /* if not 0, argument 0 is its type */
	unsigned char timeout;   /* a number; below 0: no limit */
	unsigned char timespec;  /* an address; NULL: no limit */
};

/*
 * To describe another system call, add a row; for a new kind of wait, also a
 * kind in syscall.h and words in blocked.c.
 *
 * A 32-bit wdrun interprets no system call: 32-bit architectures are rare and
 * lack some of these calls, and every stack there is below LOWEST_STACK.
 */
static const struct form forms[] = {
	{ .number = -2 }, /* of no call: ISO C has no empty arrays */
#ifdef __LP64__
	{ .number = SYS_read, .kind = SYSTEMCALL_READ },
	{ .number = SYS_readv, .kind = SYSTEMCALL_READ },
	{ .number = SYS_pread64, .kind = SYSTEMCALL_READ },
	{ .number = SYS_preadv, .kind = SYSTEMCALL_READ },
	{ .number = SYS_preadv2, .kind = SYSTEMCALL_READ },
	{ .number = SYS_recvfrom, .kind = SYSTEMCALL_READ },
	{ .number = SYS_recvmsg, .kind = SYSTEMCALL_READ },
	{ .number = SYS_recvmmsg, .kind = SYSTEMCALL_READ },
	{ .number = SYS_write, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_writev, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_pwrite64, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_pwritev, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_pwritev2, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_sendto, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_sendmsg, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_sendmmsg, .kind = SYSTEMCALL_WRITE },
	{ .number = SYS_splice, .kind = SYSTEMCALL_MOVE, .to_fd = 2 },
	{ .number = SYS_tee, .kind = SYSTEMCALL_MOVE, .to_fd = 1 },
	{ .number = SYS_sendfile, .kind = SYSTEMCALL_MOVE, .fd = 1 },
	{ .number = SYS_copy_file_range, .kind = SYSTEMCALL_MOVE, .to_fd = 2 },
	{ .number = SYS_fsync, .kind = SYSTEMCALL_SYNC },
	{ .number = SYS_fdatasync, .kind = SYSTEMCALL_SYNC },
	{ .number = SYS_connect, .kind = SYSTEMCALL_CONNECT },
	{ .number = SYS_accept, .kind = SYSTEMCALL_ACCEPT },
	{ .number = SYS_accept4, .kind = SYSTEMCALL_ACCEPT },
	{ .number = SYS_openat,
	  .kind = SYSTEMCALL_OPEN,
	  .path = 1,
	  .flags = 2 },
	{ .number = SYS_openat2,
	  .kind = SYSTEMCALL_OPEN,
	  .path = 1,
	  .fixed_flags = SYSTEMCALL_FLAGS_UNKNOWN },
	{ .number = SYS_flock, .kind = SYSTEMCALL_LOCK },
	{ .number = SYS_fcntl, .kind = SYSTEMCALL_LOCK },
	{ .number = SYS_futex, .kind = SYSTEMCALL_FUTEX, .timespec = 3 },
	{ .number = SYS_wait4, .kind = SYSTEMCALL_WAIT },
	{ .number = SYS_waitid, .kind = SYSTEMCALL_WAIT, .child = 1 },
	{ .number = SYS_nanosleep, .kind = SYSTEMCALL_SLEEP },
	{ .number = SYS_clock_nanosleep, .kind = SYSTEMCALL_SLEEP },
	{ .number = SYS_rt_sigsuspend, .kind = SYSTEMCALL_SIGNAL },
	{ .number = SYS_rt_sigtimedwait, .kind = SYSTEMCALL_SIGNAL },
	{ .number = SYS_ppoll, .kind = SYSTEMCALL_POLL, .timespec = 2 },
	{ .number = SYS_pselect6, .kind = SYSTEMCALL_SELECT, .timespec = 4 },
	{ .number = SYS_epoll_pwait, .kind = SYSTEMCALL_EPOLL, .timeout = 3 },
	{ .number = SYS_epoll_pwait2, .kind = SYSTEMCALL_EPOLL, .timespec = 3 },
	{ .number = SYS_io_uring_enter, .kind = SYSTEMCALL_RING },
/* arm64 lacks calls that a newer call can replace. */
#ifdef SYS_open
	{ .number = SYS_open, .kind = SYSTEMCALL_OPEN, .flags = 1 },
#endif
#ifdef SYS_creat
	{ .number = SYS_creat,
	  .kind = SYSTEMCALL_OPEN,
	  .fixed_flags = O_WRONLY },
#endif
#ifdef SYS_pause
	{ .number = SYS_pause, .kind = SYSTEMCALL_SIGNAL },
#endif
#ifdef SYS_poll
	{ .number = SYS_poll, .kind = SYSTEMCALL_POLL, .timeout = 2 },
#endif
#ifdef SYS_select
	{ .number = SYS_select, .kind = SYSTEMCALL_SELECT, .timespec = 4 },
#endif
#ifdef SYS_epoll_wait
	{ .number = SYS_epoll_wait, .kind = SYSTEMCALL_EPOLL, .timeout = 3 },
#endif
#endif
};

static const struct form *
find_form(int64_t number)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (forms[i].number == number)
			return &forms[i];
	}
	return NULL;
}

/* Reads " 0x7f" at *TEXT into *NUMBER, and moves *TEXT behind the number. */
static bool
take_address(const char **text, uint64_t *number)
{
	static const char prefix[] = " 0x";
	const size_t length = sizeof(prefix) - 1;

	if (strncmp(*text, prefix, length) != 0)
		return false;
	*text = text_read_number(*text + length, HEXADECIMAL, number);
	return *text != NULL;
}

/* Whether CALL is an fcntl(2) that waits for no lock. */
static bool
is_other_fcntl(const struct systemcall *call)
{
	const int operation = (int)call->arguments[1];

	return call->number == SYS_fcntl && operation != F_SETLKW &&
	       operation != F_OFD_SETLKW;
}

/* Sets the fields of CALL that say what its arguments mean. */
static void
interpret(struct systemcall *call)
{
	const uint64_t *const arguments = call->arguments;
	const struct form *const form = find_form(call->number);

	/* Only a 32-bit process has a stack so low. */
	if (form == NULL || call->stack < LOWEST_STACK || is_other_fcntl(call))
		return;
	call->kind = (enum systemcall_kind)form->kind;
	call->timeout = NEVER;
	call->fd = (int)arguments[form->fd];
	call->to_fd = (int)arguments[form->to_fd];
	call->path = arguments[form->path];
	call->flags =
	    form->flags != 0 ? (int)arguments[form->flags] : form->fixed_flags;
	call->has_directory = form->path != 0 && (int)arguments[0] != AT_FDCWD;
	call->child = (pid_t)arguments[form->child];
	/* For wait4(2), -1 is any child; other numbers below 0, a group. */
	call->is_selective =
	    call->kind == SYSTEMCALL_WAIT &&
	    (form->child != 0 ? (int)arguments[0] != P_ALL : call->child != -1);
	if (call->child < 0 || (form->child != 0 && (int)arguments[0] != P_PID))
		call->child = 0;
	call->has_timeout = form->timespec != 0
	                        ? arguments[form->timespec] != 0
	                        : (arguments[form->timeout] & SIGN_OF_INT) == 0;
	if (form->timeout != 0 && call->has_timeout)
		call->timeout = (int)arguments[form->timeout] * MILLISECOND;
}

int
systemcall_parse(const char *text, struct systemcall *call)
{
	uint64_t number = 0;

	errno = EINVAL;
	*call = (struct systemcall){ .is_running = strcmp(text, RUNNING) == 0 };
	if (call->is_running)
		return 0;
	/* "-1" stands for no system call. */
	const bool is_none = *text == '-';

	text = text_read_number(text + is_none, DECIMAL, &number);
	if (text == NULL || number > INT64_MAX || (is_none && number != 1))
		return -1;
	call->number = is_none ? -1 : (int64_t)number;
	for (int i = 0; call->number != -1 && i < SYSTEMCALL_ARGUMENTS; i++) {
		if (!take_address(&text, &call->arguments[i]))
			return -1;
	}
	if (!take_address(&text, &call->stack) ||
	    !take_address(&text, &call->code) || strcmp(text, "\n") != 0)
		return -1;
	interpret(call);
	return 0;
}
