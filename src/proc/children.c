/* Reaps children, and waits for their end. */
#include "proc/children.h"

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

bool
child_is_living(pid_t pid)
{
	siginfo_t info;

	/* Without WEXITED, waitid(2) passes over zombies:
	 * wait_consider_task(), wait_task_zombie(). */
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

void
wait_or_kill(pid_t child, int64_t until)
{
	/* Without a descriptor, ppoll(2) sleeps until UNTIL. */
	struct pollfd end = { .fd = pidfd_open(child), .events = POLLIN };

	/* ESRCH: the kernel has reaped it, as SIGCHLD is ignored. */
	if (child > 1 && (end.fd != -1 || errno != ESRCH) &&
	    fds_poll(&end, 1, until - duration_now(), NULL) != 1)
		(void)kill(child, SIGKILL);
	fds_close(end.fd);
}
