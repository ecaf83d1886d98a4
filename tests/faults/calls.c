/*
 * The system calls that wdrun makes, and the errors that fit: those of their
 * manual pages that a correct program can get, from a machine without memory,
 * descriptors, processes or disk space, from a broken disk or a network file
 * system, and (EPERM of kill(2), prctl(2), setsid(2)) from a security module. A
 * call without an error here cannot fail, at least not in the way in which
 * wdrun uses it.
 */
#include "calls.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define CALL(name, ...) [SYS_##name] = { #name, { __VA_ARGS__ } }

static const struct call calls[CALLS_MAX] = {
	/* Calls of newer kernels, and of arm64. */
	CALL(brk, ENOMEM),
	CALL(capget, 0),
	CALL(chdir, EIO, ENOMEM),
	CALL(clock_gettime, 0),
	CALL(clock_nanosleep, EINTR),
	CALL(clone, EAGAIN, ENOMEM),
	CALL(clone3, EAGAIN, ENOMEM),
	CALL(close, EINTR, EIO, ENOSPC),
	CALL(close_range, ENOMEM),
	CALL(copy_file_range, EIO, ENOSPC, ENOMEM),
	CALL(dup, EMFILE),
	CALL(dup3, EMFILE, EINTR),
	CALL(epoll_create1, EMFILE, ENOMEM),
	CALL(epoll_ctl, ENOMEM, ENOSPC),
	CALL(epoll_pwait, EINTR),
	CALL(eventfd2, EMFILE, ENOMEM),
	CALL(execve, ENOMEM, EIO, EAGAIN),
	CALL(exit, 0),
	CALL(exit_group, 0),
	CALL(faccessat, EIO, ENOMEM),
	CALL(fchdir, EIO),
	CALL(fchmod, EIO, EPERM),
	CALL(fchown, EIO, EPERM),
	CALL(fcntl, EMFILE, EINTR, ENOLCK),
	CALL(fdatasync, EIO, ENOSPC),
	CALL(flock, EINTR, ENOLCK),
	CALL(fstat, EIO, ENOMEM),
	CALL(fstatfs, EIO, EINTR),
	CALL(fsync, EIO, ENOSPC),
	CALL(ftruncate, EINTR, EIO),
	CALL(futex, 0),
	CALL(getcwd, ENOMEM, ENOENT),
	CALL(getdents64, EIO, ENOMEM),
	CALL(geteuid, 0),
	CALL(getgid, 0),
	CALL(getpgid, EPERM),
	CALL(getpid, 0),
	CALL(getppid, 0),
	CALL(getpriority, 0),
	CALL(getrandom, EINTR, EAGAIN),
	CALL(getresgid, 0),
	CALL(getresuid, 0),
	CALL(getrusage, 0),
	CALL(getsid, EPERM),
	CALL(getsockopt, ENOMEM),
	CALL(gettid, 0),
	CALL(getuid, 0),
	CALL(inotify_add_watch, ENOSPC, ENOMEM),
	CALL(inotify_init1, EMFILE, ENOMEM),
	CALL(ioctl, EINTR, EIO, ENOTTY),
	CALL(kill, EPERM),
	CALL(linkat, EIO, ENOSPC, EMLINK),
	CALL(lseek, EIO),
	CALL(madvise, ENOMEM),
	CALL(mkdirat, EIO, ENOSPC),
	CALL(mmap, ENOMEM),
	CALL(mremap, ENOMEM),
	CALL(mprotect, ENOMEM),
	CALL(munmap, ENOMEM),
	CALL(nanosleep, EINTR),
	CALL(newfstatat, EIO, ENOMEM),
	CALL(openat, EMFILE, ENOMEM, EINTR, EIO),
	CALL(openat2, EMFILE, ENOMEM, EINTR, EIO),
	CALL(pidfd_open, EMFILE, ENOMEM),
	CALL(pidfd_send_signal, EPERM),
	CALL(pipe2, EMFILE, ENFILE),
	CALL(ppoll, EINTR, ENOMEM),
	CALL(prctl, EPERM),
	CALL(pread64, EINTR, EIO),
	CALL(prlimit64, EPERM),
	CALL(pwrite64, EINTR, EIO, ENOSPC),
	CALL(read, EINTR, EIO, ENOMEM),
	CALL(readlinkat, EIO, ENOMEM),
	CALL(readv, EINTR, EIO),
	CALL(renameat, EIO, ENOSPC),
	CALL(renameat2, EIO, ENOSPC),
	/*
	 * The kernel makes this call itself after a sleep that a signal
	 * interrupted.
	 */
	CALL(restart_syscall, 0),
	CALL(rseq, 0),
	CALL(rt_sigaction, 0),
	CALL(rt_sigpending, 0),
	CALL(rt_sigprocmask, 0),
	CALL(rt_sigqueueinfo, EAGAIN),
	CALL(rt_sigreturn, 0),
	CALL(rt_sigsuspend, 0),
	CALL(rt_sigtimedwait, EINTR),
	CALL(sched_setattr, EPERM),
	CALL(sched_setscheduler, EPERM),
	CALL(sched_yield, 0),
	CALL(sendfile, EINTR, EIO, ENOMEM),
	CALL(set_robust_list, 0),
	CALL(set_tid_address, 0),
	CALL(setpgid, EPERM),
	CALL(setsid, EPERM),
	CALL(signalfd4, EMFILE, ENOMEM),
	CALL(splice, EINTR, ENOMEM, EIO),
	CALL(statfs, EIO, EINTR),
	CALL(statx, EIO, ENOMEM),
	CALL(symlinkat, EIO, ENOSPC),
	CALL(tee, ENOMEM),
	CALL(tgkill, EPERM),
	CALL(timerfd_create, EMFILE, ENOMEM),
	CALL(timerfd_settime, 0),
	CALL(umask, 0),
	CALL(uname, 0),
	CALL(unlinkat, EIO, ENOMEM),
	CALL(wait4, EINTR),
	CALL(waitid, EINTR),
	CALL(write, EINTR, EIO, ENOSPC, EAGAIN),
	CALL(writev, EINTR, EIO, ENOSPC, EAGAIN),
#ifdef SYS_open /* calls of machines older than arm64 */
	CALL(access, EIO, ENOMEM),
	CALL(arch_prctl, 0),
	CALL(creat, EMFILE, EIO, ENOSPC),
	CALL(dup2, EMFILE, EINTR),
	CALL(epoll_wait, EINTR),
	CALL(fork, EAGAIN, ENOMEM),
	CALL(getpgrp, 0),
	CALL(link, EIO, ENOSPC),
	CALL(lstat, EIO, ENOMEM),
	CALL(mkdir, EIO, ENOSPC),
	CALL(open, EMFILE, ENOMEM, EINTR, EIO),
	CALL(pause, EINTR),
	CALL(pipe, EMFILE, ENFILE),
	CALL(poll, EINTR, ENOMEM),
	CALL(readlink, EIO, ENOMEM),
	CALL(rename, EIO, ENOSPC),
	CALL(rmdir, EIO, ENOMEM),
	CALL(stat, EIO, ENOMEM),
	CALL(unlink, EIO, ENOMEM),
	CALL(vfork, EAGAIN, ENOMEM),
#endif
};

const struct call *
call_of(long number)
{
	static const struct call unknown;

	return number < 0 || number >= CALLS_MAX ? &unknown : &calls[number];
}

long
call_number(const char *name)
{
	for (long i = 0; i < CALLS_MAX; i++) {
		if (calls[i].name != NULL && strcmp(calls[i].name, name) == 0)
			return i;
	}
	return -1;
}

bool
call_is_made_to_fail(long number)
{
	return number == SYS_close;
}
