/* The start and the end of wdrun's own processes besides the watchers. */
#include "proc/helper.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/procfs.h"
#include "proc/wait.h"

#define CLONE_CHILDREN ((int)__WCLONE) /* no ordinary children: waitid(2) */

#define PAUSE_FIRST (MILLISECOND / 16)
#define PAUSE_LAST  (16 * MILLISECOND)

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

bool
helper_await_until(pid_t pid, int64_t deadline)
{
	int64_t pause = PAUSE_FIRST;
	siginfo_t info;

	/* The helper is not reaped before, so PID is its own. */
	while (pid > 0 && wait_peek(pid, WEXITED | CLONE_CHILDREN, &info) ==
	                      CHILD_NONE_READY) {
		if (duration_now() >= deadline) {
			(void)kill(pid, SIGKILL);
			return false;
		}
		duration_sleep(pause);
		if (pause < PAUSE_LAST)
			pause *= 2;
	}
	return true;
}

static pid_t killed; /* a helper that hung, and is not reaped yet; or 0 */
static int64_t cpu;  /* time of helper_run()'s helpers */

/* Reaps HELPER. Returns whether it is dead. */
static bool
reap(pid_t helper, int options)
{
	struct rusage usage = { .ru_utime = { 0 } };

	if (wait4(helper, NULL, options | __WALL, &usage) != helper)
		return false;
	cpu += (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) *
	           (MILLISECOND / 1000);
	return true;
}

int64_t
helper_cpu(void)
{
	return cpu;
}

bool
helper_run(void (*work)(void *arg), void *arg, int64_t until)
{
	int fds[2];
	char byte;

	errno = ETIMEDOUT;
	if (killed != 0 && !reap(killed, WNOHANG))
		return false;
	killed = 0;
	if (pipe2(fds, O_CLOEXEC) == -1)
		return false;

	const pid_t helper = helper_fork();
	const int why = helper == -1 ? errno : ETIMEDOUT;

	if (helper == 0) {
		const int keep[] = { fds[1], procfs_fd() };

		fds_release(-1, keep, 2);
		work(arg);
		_exit(write(fds[1], "", 1) == 1 ? 0 : 1);
	}

	const int64_t now = duration_now();
	const int64_t left = helper != -1 && until > now ? until - now : 0;
	struct pollfd end = { .fd = fds[0], .events = POLLIN };

	(void)close(fds[1]);
	/* All signals are blocked, and interrupt nothing. Without the byte, the
	 * helper was killed. */
	const bool is_done =
	    ppoll(&end, 1, &(struct timespec){ left / SECOND, left % SECOND },
	          NULL) == 1 &&
	    read(fds[0], &byte, 1) == 1;

	(void)close(fds[0]);
	if (is_done) {
		(void)reap(helper, 0);
	} else if (helper != -1) {
		(void)kill(helper, SIGKILL);
		killed = helper;
	}
	errno = why;
	return is_done;
}
