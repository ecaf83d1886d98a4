/* The start and the end of wdrun's own processes besides the watchers. */
#include "proc/helper.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/pidfd.h"
#include "proc/wait.h"

/* As fork(2), but for the exit signal. The library's clone(2) wants a stack and
 * a function. After the raw call libc keeps the parent's thread ID: helper.h
 * names the functions that read the thread ID. */
static pid_t
fork_with_exit_signal(int signal)
{
#ifdef __s390__ /* there, the stack is the first argument: clone(2) */
	return (pid_t)syscall(SYS_clone, 0, signal, 0, 0, 0);
#else
	return (pid_t)syscall(SYS_clone, signal, 0, 0, 0, 0);
#endif
}

pid_t
helper_fork(void)
{
	const pid_t self = getpid();
	const pid_t helper = fork_with_exit_signal(HELPER_EXIT_SIGNAL);

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
	const int64_t left = until - duration_now();
	const struct timespec time = { left > 0 ? left / SECOND : 0,
		                       left > 0 ? left % SECOND : 0 };

	if (helper == -1)
		return;

	/* Without a descriptor, ppoll(2) sleeps until UNTIL. */
	struct pollfd end = { .fd = pidfd_open(helper), .events = POLLIN };
	siginfo_t info;

	(void)ppoll(&end, 1, &time, NULL);
	fds_close(end.fd);
	if (wait_peek(helper, WEXITED | WNOWAIT | __WALL, &info) != helper)
		(void)kill(helper, SIGKILL);
}
