/*
 * The system calls that wdrun makes, and the errors that fit: those of their
 * manual pages that a correct program can get, from a machine without memory,
 * descriptors, processes or disk space, from a broken disk or a network file
 * system, and (EPERM of kill(2), prctl(2), setsid(2)) from a security module. A
 * call without errors cannot fail, at least not in the way in which wdrun uses
 * it. The kernel makes restart_syscall(2) itself.
 */
#include "calls.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>

#define GROUP_MAX 20

/* clang-format off */
#define C(name) { #name, SYS_##name }

static const struct group {
	struct call call; /* of all of them, without the name */
	struct { const char *name; long number; } calls[GROUP_MAX];
} groups[] = {
	{ { NULL, false, { 0 } }, {
		C(clock_gettime), C(exit), C(geteuid), C(getpid), C(getppid),
		C(getpriority), C(getrusage), C(gettid), C(getuid),
		C(restart_syscall), C(rt_sigaction), C(rt_sigpending),
		C(sched_getaffinity),
		C(rt_sigprocmask), C(rt_sigreturn), C(set_tid_address),
		C(umask), C(uname) } },
	{ { NULL, true, { 0 } }, {
		C(clock_nanosleep), C(exit_group), C(nanosleep),
		C(sched_yield), C(waitid) } },
	{ { NULL, true, { EAGAIN, ENOMEM } }, { C(clone), C(rt_sigqueueinfo) } },
	{ { NULL, true, { EINTR } }, {
		C(ppoll), C(rt_sigtimedwait), C(wait4) } },
	{ { NULL, true, { EINTR, EIO, ENOMEM } }, {
		C(ftruncate), C(read), C(readv), C(splice) } },
	{ { NULL, true, { EINTR, EIO, ENOSPC } }, { C(close), C(pwrite64) } },
	{ { NULL, true, { EINTR, EIO, ENOSPC, EAGAIN } }, {
		C(write), C(writev) } },
	{ { NULL, true, { EINTR, ENOLCK } }, { C(flock) } },
	{ { NULL, false, { EINTR, EIO } }, {
		C(fchdir), C(fstatfs), C(lseek), C(pread64) } },
	{ { NULL, false, { EIO, ENOMEM } }, {
		C(faccessat), C(fstat), C(getcwd), C(getdents64),
		C(newfstatat), C(readlinkat), C(statx) } },
	{ { NULL, true, { EIO, ENOSPC } }, { C(mkdirat), C(renameat) } },
	{ { NULL, true, { EIO, ENOMEM } }, { C(chdir), C(unlinkat) } },
	{ { NULL, true, { EIO, ENOTTY } }, { C(ioctl) } },
	{ { NULL, false, { EIO, ENOSPC } }, { C(fdatasync), C(fsync) } },
	{ { NULL, true, { EIO, EPERM } }, { C(fchmod) } },
	{ { NULL, false, { EMFILE, ENFILE } }, { C(dup), C(pipe2) } },
	{ { NULL, true, { EMFILE, EINTR } }, { C(dup3) } },
	{ { NULL, false, { EMFILE, EINTR, ENOLCK } }, { C(fcntl) } },
	{ { NULL, false, { EMFILE, ENOMEM } }, {
		C(inotify_init1), C(pidfd_open), C(signalfd4) } },
	{ { NULL, false, { EMFILE, ENOMEM, EINTR, EIO } }, { C(openat), C(openat2) } },
	{ { NULL, false, { ENOMEM, ENOSPC } }, { C(inotify_add_watch) } },
	{ { NULL, false, { ENOMEM } }, {
		C(brk), C(madvise), C(mmap), C(mprotect), C(mremap),
		C(munmap) } },
	{ { NULL, true, { ENOMEM } }, { C(close_range), C(tee) } },
	{ { NULL, true, { ENOMEM, EIO, EAGAIN } }, { C(execve) } },
	{ { NULL, false, { EPERM } }, { C(getpgid), C(getsid), C(prlimit64) } },
	{ { NULL, true, { EPERM } }, {
		C(kill), C(pidfd_send_signal), C(prctl), C(sched_setattr),
		C(setpgid), C(setsid), C(tgkill) } },
#ifdef SYS_open /* calls of machines older than arm64 */
	{ { NULL, false, { 0 } }, { C(arch_prctl), C(getpgrp) } },
	{ { NULL, true, { EAGAIN, ENOMEM } }, { C(fork), C(vfork) } },
	{ { NULL, true, { EINTR } }, { C(poll) } },
	{ { NULL, false, { EIO, ENOMEM } }, {
		C(access), C(lstat), C(readlink), C(stat) } },
	{ { NULL, true, { EIO, ENOSPC } }, {
		C(mkdir), C(rename), C(rmdir), C(unlink) } },
	{ { NULL, true, { EMFILE, EINTR } }, { C(dup2) } },
	{ { NULL, false, { EMFILE, ENOMEM, EINTR, EIO } }, { C(open) } },
#endif
};
/* clang-format on */

struct call
call_of(long number)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		for (int j = 0; j < GROUP_MAX; j++) {
			struct call call = groups[i].call;

			call.name = groups[i].calls[j].name;
			if (call.name != NULL &&
			    groups[i].calls[j].number == number)
				return call;
		}
	}
	return (struct call){ .name = NULL };
}
