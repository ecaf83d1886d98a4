/*
 * Lines of /proc/PID/syscall, as kernels print them and as they never should.
 */
#include "inspect/scene.h"

#include <sys/syscall.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/duration.h"
#include "check.h"

#define ARGUMENTS " 0x3 0x4 0x5 0x6 0x7 0x8"
#define PLACE     " 0x7ffe715fb9a8 0x7fa3fc112503\n"

/* Of none of these is a call known. */
static const char *const broken[] = {
	"",
	"\n",
	"running\n",
	"-1",
	"-1" PLACE,
	"-2" PLACE,
	"-1" ARGUMENTS PLACE,
	"0" PLACE,
	"0" ARGUMENTS,
	"0" ARGUMENTS PLACE "0",
	"0" ARGUMENTS " 0x7ffe715fb9a8 0x7fa3fc112503",
	"0" ARGUMENTS " 0x0x7ffe715fb9a8 0x7fa3fc112503\n",
	"0 3 4 5 6 7 8" PLACE "0",
	"x" ARGUMENTS PLACE,
};

static const struct {
	int64_t number;
	enum wait wait;
} kinds[] = {
	{ SYS_read, WAIT_READ },
	{ SYS_readv, WAIT_READ },
	{ SYS_pread64, WAIT_READ },
	{ SYS_recvfrom, WAIT_READ },
	{ SYS_recvmsg, WAIT_READ },
	{ SYS_write, WAIT_WRITE },
	{ SYS_writev, WAIT_WRITE },
	{ SYS_pwrite64, WAIT_WRITE },
	{ SYS_sendto, WAIT_WRITE },
	{ SYS_sendmsg, WAIT_WRITE },
	{ SYS_connect, WAIT_CONNECT },
	{ SYS_accept, WAIT_ACCEPT },
	{ SYS_accept4, WAIT_ACCEPT },
	{ SYS_openat, WAIT_OPEN },
	{ SYS_flock, WAIT_LOCK },
	{ SYS_futex, WAIT_FUTEX },
	{ SYS_wait4, WAIT_CHILD },
	{ SYS_waitid, WAIT_CHILD },
	{ SYS_nanosleep, WAIT_SLEEP },
	{ SYS_clock_nanosleep, WAIT_SLEEP },
	{ SYS_rt_sigsuspend, WAIT_SIGNAL },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL },
	{ SYS_ppoll, WAIT_POLL },
	{ SYS_pselect6, WAIT_SELECT },
	{ SYS_epoll_pwait, WAIT_EPOLL },
#ifndef __aarch64__ /* arm64 has only the newer calls, which do the same */
	{ SYS_open, WAIT_OPEN },
	{ SYS_pause, WAIT_SIGNAL },
	{ SYS_poll, WAIT_POLL },
	{ SYS_select, WAIT_SELECT },
	{ SYS_epoll_wait, WAIT_EPOLL },
#endif
	{ SYS_fcntl, WAIT_LOCK },
	{ SYS_getpid, WAIT_OTHER },
	{ SYS_read + (INT64_C(1) << 32), WAIT_OTHER },
	{ INT64_MAX, WAIT_OTHER },
};

/* What is found in TEXT, where wchan has FUNCTION. */
static struct thread
parsed_text(const char *text, const char *function)
{
	struct thread thread = { .id = 1 };

	(void)snprintf(thread.call, sizeof(thread.call), "%s", text);
	(void)snprintf(thread.function, sizeof(thread.function), "%s",
	               function);
	thread_parse(&thread);
	return thread;
}

static struct thread
parsed(int64_t number)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%lld" ARGUMENTS PLACE,
	               (long long)number);
	return parsed_text(text, "");
}

static void
check_kinds(void)
{
	for (size_t i = 0; i < COUNT(kinds); i++) {
		char text[256];

		(void)snprintf(text, sizeof(text), "%lld",
		               (long long)kinds[i].number);
		CHECK(parsed(kinds[i].number).wait == kinds[i].wait, text);

		/* A stack below 4 GiB may belong to a 32-bit process. */
		(void)snprintf(text, sizeof(text),
		               "%lld" ARGUMENTS " 0xffffd000 0xf7f1a000\n",
		               (long long)kinds[i].number);
		CHECK(parsed_text(text, "").wait == WAIT_OTHER, text);
	}
}

static void
check_limits(void)
{
	CHECK(parsed(SYS_ppoll).has_limit, "ppoll");
	CHECK(parsed(SYS_ppoll).limit == NEVER, "ppoll");
	CHECK(parsed(SYS_epoll_pwait).limit == 6 * MILLISECOND, "epoll_pwait");
	CHECK(!parsed(SYS_read).has_limit, "read");
}

int
main(void)
{
	for (size_t i = 0; i < COUNT(broken); i++) {
		const struct thread thread = parsed_text(broken[i], "");

		CHECK(thread.number == -1, broken[i]);
		CHECK(thread.wait == WAIT_OTHER, broken[i]);
	}
	CHECK(parsed(4711).number == 4711, "a call");
	CHECK(parsed(4711).args[0] == 3 && parsed(4711).args[5] == 8, "a call");
	/* Where the call may not be read, the function tells. */
	CHECK(parsed_text("", "hrtimer_nanosleep").wait == WAIT_SLEEP, "sleep");
	CHECK(parsed_text("", "do_wait").wait == WAIT_CHILD, "child");
	CHECK(parsed_text("", "pipe_read").wait == WAIT_OTHER, "read");
	check_kinds();
	check_limits();
	return failures != 0;
}
