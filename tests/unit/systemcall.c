/*
 * Lines of /proc/PID/syscall, as kernels print them and as they never should.
 */
#include "inspect/syscall.h"

#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "check.h"

#define ARGUMENTS " 0x3 0x4 0x5 0x6 0x7 0x8"
#define PLACE     " 0x7ffe715fb9a8 0x7fa3fc112503\n"

static const char *const broken[] = {
	"",
	"\n",
	"running",
	"running\nrunning\n",
	"-1",
	"-1 0x7ffe715fb9a8\n",
	"-2 0x7ffe715fb9a8 0x7fa3fc112503\n",
	"-1" ARGUMENTS PLACE,
	"0" PLACE,
	"0" ARGUMENTS,
	"0" ARGUMENTS PLACE "0",
	"0" ARGUMENTS " 0x7ffe715fb9a8 0x7fa3fc112503",
	"0" ARGUMENTS " 0x0x7ffe715fb9a8 0x7fa3fc112503\n",
	"0" ARGUMENTS " 0x7ffe715fb9a8 0x 7fa3fc112503\n",
	"0" ARGUMENTS " 0x7ffe715fb9a8 0x-7fa3fc11250\n",
	"0 3 4 5 6 7 8" PLACE,
	"x" ARGUMENTS PLACE,
};

static const struct {
	int64_t number;
	enum systemcall_kind kind;
} kinds[] = {
	{ SYS_read, SYSTEMCALL_READ },
	{ SYS_readv, SYSTEMCALL_READ },
	{ SYS_pread64, SYSTEMCALL_READ },
	{ SYS_recvfrom, SYSTEMCALL_READ },
	{ SYS_recvmsg, SYSTEMCALL_READ },
	{ SYS_write, SYSTEMCALL_WRITE },
	{ SYS_writev, SYSTEMCALL_WRITE },
	{ SYS_pwrite64, SYSTEMCALL_WRITE },
	{ SYS_sendto, SYSTEMCALL_WRITE },
	{ SYS_sendmsg, SYSTEMCALL_WRITE },
	{ SYS_splice, SYSTEMCALL_MOVE },
	{ SYS_sendfile, SYSTEMCALL_MOVE },
	{ SYS_fsync, SYSTEMCALL_SYNC },
	{ SYS_connect, SYSTEMCALL_CONNECT },
	{ SYS_accept, SYSTEMCALL_ACCEPT },
	{ SYS_accept4, SYSTEMCALL_ACCEPT },
	{ SYS_openat, SYSTEMCALL_OPEN },
	{ SYS_flock, SYSTEMCALL_LOCK },
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
#ifndef __aarch64__ /* arm64 has only the newer calls, which do the same */
	{ SYS_open, SYSTEMCALL_OPEN },
	{ SYS_creat, SYSTEMCALL_OPEN },
	{ SYS_pause, SYSTEMCALL_SIGNAL },
	{ SYS_poll, SYSTEMCALL_POLL },
	{ SYS_select, SYSTEMCALL_SELECT },
	{ SYS_epoll_wait, SYSTEMCALL_EPOLL },
#endif
	{ SYS_fcntl, SYSTEMCALL_OTHER }, /* with another operation */
	{ SYS_getpid, SYSTEMCALL_OTHER },
	{ SYS_read + (INT64_C(1) << 32), SYSTEMCALL_OTHER },
	{ INT64_MAX, SYSTEMCALL_OTHER },
};

static void
check_kinds(void)
{
	struct systemcall call;
	char text[256];
	char name[32];

	for (size_t i = 0; i < COUNT(kinds); i++) {
		(void)snprintf(name, sizeof(name), "%lld",
		               (long long)kinds[i].number);
		(void)snprintf(text, sizeof(text), "%s" ARGUMENTS PLACE, name);
		CHECK(systemcall_parse(text, &call) == 0, name);
		CHECK(call.kind == kinds[i].kind, name);

		/* A stack below 4 GiB may belong to a 32-bit process. */
		(void)snprintf(text, sizeof(text),
		               "%s" ARGUMENTS " 0xffffd000 0xf7f1a000\n", name);
		CHECK(systemcall_parse(text, &call) == 0, name);
		CHECK(call.kind == SYSTEMCALL_OTHER, name);
	}
}

static struct systemcall
parsed(int64_t number)
{
	struct systemcall call;
	char text[256];

	(void)snprintf(text, sizeof(text), "%lld" ARGUMENTS PLACE,
	               (long long)number);
	CHECK(systemcall_parse(text, &call) == 0, text);
	return call;
}

/* The arguments of each of the calls that open a file. */
static void
check_open(void)
{
	struct systemcall call = parsed(SYS_openat);

	CHECK(call.flags == 5 && call.path == 4, "openat");
	CHECK(call.has_directory, "openat");
	call = parsed(SYS_openat2);
	CHECK(call.flags == SYSTEMCALL_FLAGS_UNKNOWN && call.path == 4,
	      "openat2");
#ifndef __aarch64__
	call = parsed(SYS_open);
	CHECK(call.flags == 4 && call.path == 3, "open");
	CHECK(!call.has_directory, "open");
	call = parsed(SYS_creat);
	CHECK(call.flags == O_WRONLY && call.path == 3, "creat");
#endif
}

/* The calls of a kind differ in which argument means what. */
static void
check_arguments(void)
{
	CHECK(parsed(SYS_read).fd == 3, "read");
	CHECK(parsed(SYS_splice).fd == 3 && parsed(SYS_splice).to_fd == 5,
	      "splice");
	CHECK(parsed(SYS_tee).fd == 3 && parsed(SYS_tee).to_fd == 4, "tee");
	CHECK(parsed(SYS_sendfile).fd == 4 && parsed(SYS_sendfile).to_fd == 3,
	      "sendfile");
	CHECK(parsed(SYS_wait4).child == 3, "wait4");
	/* The first argument is not P_PID. */
	CHECK(parsed(SYS_waitid).child == 0, "waitid");
}

int
main(void)
{
	struct systemcall call;

	for (size_t i = 0; i < COUNT(broken); i++) {
		errno = 0;
		CHECK(systemcall_parse(broken[i], &call) == -1, broken[i]);
		CHECK(errno == EINVAL, broken[i]);
	}

	CHECK(systemcall_parse("running\n", &call) == 0, "running");
	CHECK(call.is_running, "running");
	CHECK(call.kind == SYSTEMCALL_OTHER, "running");

	CHECK(systemcall_parse("-1" PLACE, &call) == 0, "no call");
	CHECK(!call.is_running && call.number == -1, "no call");
	CHECK(call.stack == 0x7ffe715fb9a8, "no call");
	CHECK(call.kind == SYSTEMCALL_OTHER, "no call");

	CHECK(systemcall_parse("4711" ARGUMENTS PLACE, &call) == 0, "a call");
	CHECK(!call.is_running && call.number == 4711, "a call");
	CHECK(call.arguments[0] == 3 && call.arguments[5] == 8, "a call");
	CHECK(call.code == 0x7fa3fc112503, "a call");
	check_kinds();
	check_open();
	check_arguments();
	return failures != 0;
}
