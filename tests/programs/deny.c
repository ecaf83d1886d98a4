/*
 * deny CALL... -- COMMAND [ARG]...: executes COMMAND as on an older kernel: the
 * named system calls fail with ENOSYS. PR_SET_PDEATHSIG stands for that
 * operation of prctl(2). A CALL with "hang:" before its name hangs instead,
 * until a signal ends it, as long as COMMAND or a child of it lives.
 */
#include "bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

struct call {
	const char *name;
	unsigned number;
	unsigned argument; /* the first argument, or 0 for any */
};

static const struct call calls[] = {
	{ "close_range", SYS_close_range, 0 },
	{ "pidfd_open", SYS_pidfd_open, 0 },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, 0 },
	{ "clone3", SYS_clone3, 0 },
	{ "waitid", SYS_waitid, 0 },
	{ "faccessat2", SYS_faccessat2, 0 },
	{ "openat2", SYS_openat2, 0 },
	{ "epoll_pwait2", SYS_epoll_pwait2, 0 },
	{ "statx", SYS_statx, 0 },
	{ "linkat", SYS_linkat, 0 },
	{ "flock", SYS_flock, 0 },
	{ "kill", SYS_kill, 0 },
	{ "clock_gettime", SYS_clock_gettime, 0 },
	{ "inotify_init1", SYS_inotify_init1, 0 },
	{ "process_vm_readv", SYS_process_vm_readv, 0 },
	{ "setsid", SYS_setsid, 0 },
	{ "PR_SET_PDEATHSIG", SYS_prctl, PR_SET_PDEATHSIG },
};

static const struct call *
find_call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, name) == 0)
			return &calls[i];
	}
	fprintf(stderr, "deny: no such call: %s\n", name);
	exit(99);
}

/* Nobody answers at the descriptor that seccomp(2) returns, which COMMAND
 * inherits. */
static void
deny_call(const struct call *call, bool hangs)
{
	/* The lower half of the argument, on a little-endian machine. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		         offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 4),
		BPF_JUMP(BPF_JMP | BPF_JA, call->argument == 0 ? 2 : 0, 0, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		         offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->argument, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, hangs ? SECCOMP_RET_USER_NOTIF
		                                : SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {
		.len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter,
	};

	const long fd =
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1
	        ? -1
	        : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                  hangs ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0,
	                  &program);

	if (fd == -1 || (hangs && fcntl((int)fd, F_SETFD, 0) == -1))
		give_up("seccomp");
}

int
main(int argc, char *argv[])
{
	int i = 1;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const bool hangs = strncmp(argv[i], "hang:", 5) == 0;

		deny_call(find_call(argv[i] + (hangs ? 5 : 0)), hangs);
	}
	if (i + 1 >= argc)
		return 99;
	execvp(argv[i + 1], argv + i + 1);
	give_up(argv[i + 1]);
}
