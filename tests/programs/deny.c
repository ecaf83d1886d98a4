/*
 * deny CALL... -- COMMAND [ARG]...: executes COMMAND on an older kernel, as far
 * as it can tell: the named system calls fail with ENOSYS.
 */
#include "bounded.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const struct {
	const char *name;
	unsigned number;
} calls[] = {
	{ "close_range", SYS_close_range },
	{ "pidfd_open", SYS_pidfd_open },
	{ "pidfd_send_signal", SYS_pidfd_send_signal },
	{ "clone3", SYS_clone3 },
	{ "waitid", SYS_waitid },
	{ "faccessat2", SYS_faccessat2 },
	{ "openat2", SYS_openat2 },
	{ "epoll_pwait2", SYS_epoll_pwait2 },
};

static unsigned
call_number(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].number;
	}
	fprintf(stderr, "deny: no such call: %s\n", name);
	exit(99);
}

static void
deny_call(unsigned number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		         offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1)
		give_up("seccomp");
}

int
main(int argc, char *argv[])
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		deny_call(call_number(argv[i]));
	if (i + 1 >= argc)
		return 99;
	execvp(argv[i + 1], argv + i + 1);
	give_up(argv[i + 1]);
}
