/*
 * Lines of /proc/PID/syscall, as kernels print them and as they never should.
 */
#include "inspect/scene.h"

#include "base/kernel.h"
#include "check.h"

#define ARGUMENTS " 0x3 0x4 0x5 0x6 0x7 0x8"
#ifdef __LP64__
#define PLACE       " 0x7ffe715fb9a8 0x7fa3fc112503\n"
#define OTHER_PLACE " 0xffffd000 0xf7f1a000\n"
#else
#define PLACE       " 0xffffd000 0xf7f1a000\n"
#define OTHER_PLACE " 0x7ffe715fb9a8 0x7fa3fc112503\n"
#endif

/* Of none of these is a call known. */
static const char *const broken[] = {
	"",
	"running\n",
	"-1" PLACE,
	"-1" ARGUMENTS PLACE,
	"0" PLACE,
	"0" ARGUMENTS,
	"x" ARGUMENTS PLACE,
	/* Of a process of another width, as the stack tells. */
	"0" ARGUMENTS OTHER_PLACE,
};

static const struct {
	enum wait wait;
	int64_t calls[5];
} kinds[] = {
	{ WAIT_READ, { SYS_readv, SYS_pread64, SYS_recvfrom, SYS_recvmsg } },
	{ WAIT_WRITE,
	  { SYS_write, SYS_writev, SYS_pwrite64, SYS_sendto, SYS_sendmsg } },
	{ WAIT_ACCEPT, { SYS_accept4 } },
	{ WAIT_FS, { SYS_openat, SYS_fsync, SYS_statx, SYS_mkdirat } },
	{ WAIT_LOCK, { SYS_flock, SYS_fcntl } },
	{ WAIT_IO, { SYS_connect, SYS_splice, SYS_msgsnd, SYS_msgrcv } },
	{ WAIT_FUTEX, { SYS_futex } },
	{ WAIT_CHILD, { SYS_wait4, SYS_waitid } },
	{ WAIT_SLEEP, { SYS_nanosleep, SYS_clock_nanosleep } },
	{ WAIT_SIGNAL, { SYS_rt_sigsuspend, CALL_SIGTIMEDWAIT } },
	{ WAIT_POLL, { CALL_PPOLL } },
	{ WAIT_SELECT, { SYS_pselect6, CALL_PSELECT64 } },
	{ WAIT_EPOLL, { SYS_epoll_pwait, CALL_EPOLL_PWAIT2 } },
#ifdef __x86_64__ /* not each architecture has these */
	{ WAIT_ACCEPT, { SYS_accept } },
	{ WAIT_FS, { SYS_open, SYS_stat, SYS_mkdir, SYS_unlink } },
	{ WAIT_SIGNAL, { SYS_pause } },
	{ WAIT_POLL, { SYS_poll } },
	{ WAIT_SELECT, { SYS_select } },
	{ WAIT_EPOLL, { SYS_epoll_wait } },
#endif
#ifdef __i386__
	{ WAIT_SELECT, { SYS__newselect } },
	{ WAIT_LOCK, { SYS_fcntl64 } },
#endif
	{ WAIT_OTHER,
	  { SYS_getpid, SYS_read + (INT64_C(1) << 32), INT64_MAX } },
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

static struct thread
again(const char *function)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%d" ARGUMENTS PLACE,
	               SYS_restart_syscall);
	return parsed_text(text, function);
}

int
main(void)
{
	for (size_t i = 0; i < COUNT(broken); i++) {
		const struct thread thread = parsed_text(broken[i], "");

		CHECK(thread.number == -1, broken[i]);
		CHECK(thread.wait == WAIT_OTHER, broken[i]);
	}
	for (size_t i = 0; i < COUNT(kinds); i++) {
		for (size_t j = 0; j < COUNT(kinds[i].calls); j++) {
			const struct thread thread = parsed(kinds[i].calls[j]);

			if (kinds[i].calls[j] != 0)
				CHECK(thread.wait == kinds[i].wait,
				      thread.call);
		}
	}
	CHECK(parsed(SYS_futex).rank < WAIT_FUTEX, "a futex with a limit");
	CHECK(parsed(4711).args[0] == 3 && parsed(4711).args[5] == 8, "a call");
	/* Where the call may not be read, the function tells. */
	CHECK(parsed_text("", "hrtimer_nanosleep").wait == WAIT_SLEEP, "sleep");
	CHECK(parsed_text("", "do_wait").wait == WAIT_CHILD, "child");
	CHECK(parsed_text("", "pipe_read").wait == WAIT_OTHER, "read");
	CHECK(parsed(SYS_read).wait == WAIT_READ, "read");
	/* After a stop, the call is restart_syscall(2). */
	CHECK(parsed(SYS_restart_syscall).wait == WAIT_SLEEP, "sleep again");
	CHECK(again("poll_schedule_timeout").wait == WAIT_POLL, "poll again");
	CHECK(again("futex_do_wait").wait == WAIT_FUTEX, "futex again");
	/* And some tell more than the call. */
	CHECK(parsed_text("", "kernel_clone").wait == WAIT_VFORK, "vfork");
	CHECK(parsed_text("", "do_freezer_trap").wait == WAIT_FROZEN, "frozen");
	return failures != 0;
}
