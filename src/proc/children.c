/* The children of this process, by waitid(2), and helpers among them. */
#include "proc/children.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <poll.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"

/* The exit signal of a helper. No real-time signal: at RLIMIT_SIGPENDING the
 * kernel drops real-time signals. A signal that is ignored by default: the
 * parent may not have blocked signals yet. While SIGURG is pending, another
 * process's SIGURG to the parent is lost: signal(7). */
#define EXIT_SIGNAL SIGURG

pid_t
wait_peek(pid_t pid, int options, siginfo_t *info)
{
	info->si_pid = CHILD_NONE_READY;
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

int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* As fork(2), but for the exit signal. The library's clone(2) wants a stack and
 * a function. After the raw call libc keeps the parent's thread ID, which the
 * functions read that helper_fork() forbids. */
static pid_t
clone_self(void)
{
#ifdef __s390__ /* there, the stack is the first argument: clone(2) */
	return (pid_t)syscall(SYS_clone, 0, EXIT_SIGNAL, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, EXIT_SIGNAL, 0, 0, 0, 0);
#endif
}

pid_t
helper_fork(void)
{
	const pid_t self = getpid();
	const pid_t helper = clone_self();

	if (helper != 0)
		return helper;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);

	/* The parent may have died before prctl(2) was called. A parent in
	 * another PID namespace has the number 0 here. */
	const pid_t parent = getppid();

	if (parent != self && parent != 0)
		_exit(0);
	return 0;
}

void
helper_await(pid_t helper, int64_t until)
{
	const int64_t left = (until - duration_now()) / MILLISECOND;

	if (helper == -1)
		return;

	/* Without a descriptor, poll(2) sleeps until UNTIL. */
	struct pollfd end = { .fd = pidfd_open(helper), .events = POLLIN };
	siginfo_t info;

	(void)poll(&end, 1, left > 0 ? (int)left : 0);
	fds_close(end.fd);
	if (wait_peek(helper, WEXITED | WNOWAIT | __WALL, &info) != helper)
		(void)kill(helper, SIGKILL);
}
