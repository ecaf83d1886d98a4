/* The start and the end of wdrun's own processes besides the watchers. */
#include "proc/helper.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/procfs.h"
#include "proc/wait.h"

#define CLONE_CHILDREN ((int)__WCLONE) /* no ordinary children: waitid(2) */

#define PATIENCE    SECOND
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
helper_fork(int death_signal)
{
	const pid_t self = getpid();
	const pid_t helper = fork_with_exit_signal(HELPER_EXIT_SIGNAL);

	if (helper != 0)
		return helper;
	(void)prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0);

	/* The parent may have died before prctl(2) was called. A parent in
	 * another PID namespace has the number 0 here. */
	const pid_t parent = getppid();

	if (parent != self && parent != 0)
		_exit(0);
	return 0;
}

void
helper_become(const char *name, int null_fd, const int keep[], size_t count)
{
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	fds_release(null_fd, keep, count);
}

static volatile sig_atomic_t is_to_end;

static void
note_give_up(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_pid == getppid())
		is_to_end = 1;
}

void
helper_catch_give_up(void)
{
	/* Without SA_RESTART, so that a call that blocks fails with EINTR. */
	const struct sigaction action = { .sa_sigaction = note_give_up,
		                          .sa_flags = SA_SIGINFO };

	(void)sigaction(HELPER_GIVE_UP, &action, NULL);
	(void)signals_set_mask(~(UINT64_C(1) << (HELPER_GIVE_UP - 1)));
}

bool
helper_is_to_end(void)
{
	return is_to_end;
}

bool
helper_is_death(int signal, int code)
{
	/* A process sends no si_code above 0: rt_sigqueueinfo(2). */
	return signal == HELPER_EXIT_SIGNAL && code >= CLD_EXITED &&
	       code <= CLD_DUMPED;
}

bool
helper_is(pid_t pid)
{
	siginfo_t info;

	return pid > 0 && wait_peek(pid, WEXITED | WNOWAIT | CLONE_CHILDREN,
	                            &info) != CHILD_NONE_LEFT;
}

void
helper_continue(pid_t pid)
{
	siginfo_t info;

	if (pid > 0 && wait_peek(pid, WSTOPPED | CLONE_CHILDREN, &info) == pid)
		(void)kill(pid, SIGCONT);
}

/* Waits for the helper PID until UNTIL, sending SIGNAL (0: none) again and
 * again: a signal that comes just before a call that blocks does not interrupt
 * the call. Returns whether the helper is dead, and reaps it. */
static bool
await(pid_t pid, int signal, int64_t until)
{
	int64_t pause = PAUSE_FIRST;
	siginfo_t info;

	while (wait_peek(pid, WEXITED | CLONE_CHILDREN, &info) ==
	       CHILD_NONE_READY) {
		if (duration_now() >= until)
			return false;
		/* The helper is not reaped, so PID is still its own. */
		if (signal != 0)
			(void)kill(pid, signal);
		helper_continue(pid);
		duration_sleep(pause);
		if (pause < PAUSE_LAST)
			pause *= 2;
	}
	return true;
}

bool
helper_await(pid_t pid, int signal)
{
	return pid <= 0 || await(pid, signal, duration_now() + PATIENCE);
}

bool
helper_end(pid_t pid, int signal)
{
	return (signal != SIGKILL && helper_await(pid, signal)) ||
	       helper_await(pid, SIGKILL);
}

bool
helper_await_until(pid_t pid, int64_t deadline)
{
	if (pid <= 0 || await(pid, 0, deadline))
		return true;
	(void)helper_end(pid, SIGKILL);
	return false;
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

	const pid_t helper = helper_fork(SIGKILL);
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
