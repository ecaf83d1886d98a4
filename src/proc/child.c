/* The children of a watcher: fork, waits, death. */
#include "proc/child.h"

#include <sys/resource.h>
#include <sys/time.h>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/kernel.h"

pid_t
wait_peek(pid_t pid, int options, siginfo_t *info)
{
	info->si_pid = 0;
	/* With WNOHANG, ECHILD is the only failure. */
	return waitid(pid == ANY_CHILD ? P_ALL : P_PID, (id_t)pid, info,
	              options | WNOHANG) == -1
	           ? CHILD_NONE_LEFT
	           : info->si_pid;
}

/* Without WEXITED, waitid(2) passes over zombies, so that ECHILD means that no
 * such child is alive (wait_consider_task(), wait_task_zombie()). */
bool
wait_has_living(pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WSTOPPED | WNOWAIT, &info) != CHILD_NONE_LEFT;
}

int64_t
wait_usage(long *memory)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_CHILDREN, &usage);
	*memory = usage.ru_maxrss;
	timeradd(&usage.ru_utime, &usage.ru_stime, &usage.ru_utime);
	return usage.ru_utime.tv_sec * SECOND +
	       usage.ru_utime.tv_usec * (MILLISECOND / 1000);
}

int
pidfd_open(pid_t pid)
{
	return (int)syscall(CALL_PIDFD_OPEN, pid, 0);
}

pid_t
plain_fork(void)
{
	/* The library's clone(2) wants a stack and a function. */
#ifdef __s390__ /* there, the stack is the first argument: clone(2) */
	return (pid_t)syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
#endif
}

void
wait_or_kill(pid_t child, int64_t until)
{
	const int64_t left = (until - duration_now()) / MILLISECOND;
	/* Without a descriptor, poll(2) sleeps until UNTIL. */
	struct pollfd end = { .fd = pidfd_open(child), .events = POLLIN };

	/* No such process: the kernel has reaped it (SIGCHLD is ignored). */
	if (end.fd == -1 && errno == ESRCH)
		return;
	if (child > 1 && poll(&end, 1, left > 0 ? (int)left : 0) != 1)
		(void)kill(child, SIGKILL);
	fds_close(end.fd);
}
