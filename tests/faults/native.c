/*
 * The parts of trial.py and tracer.py for which Python is too slow: with them
 * in Python, the sweep takes twice as long.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS_MAX    512              /* numbers that are counted */
#define SYSCALL_STOP (SIGTRAP | 0x80) /* of PTRACE_O_TRACESYSGOOD */
#define REST_NS      20000000
#define PATIENCE     1000 /* calls after which the caller looks at the clock */

struct program {
	char *const *argv, *const *envp;
	int fds[3]; /* its first descriptors */
	int gate;   /* a pipe from which it reads a byte first, or -1 */
	int has_session;
};

static int
begin(void *argument)
{
	const struct program *const program = argument;
	sigset_t none;
	char byte;

	for (int i = 0; i < 3; i++)
		(void)dup2(program->fds[i], i);
	if (program->has_session)
		(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)!read(program->gate, &byte, 1);
	(void)execve(program->argv[0], program->argv, program->envp);
	_exit(99);
}

/*
 * Starts a program, and returns its PID. The memory is shared until it is
 * executed, since fork(2) copies all page tables of Python. With a gate,
 * PROGRAM has to stay until then, and no other is to be started.
 */
pid_t
native_start(struct program *program)
{
	static char stack[1 << 16];

	return clone(begin, stack + sizeof(stack),
	             CLONE_VM | SIGCHLD |
	                 (program->gate == -1 ? CLONE_VFORK : 0),
	             program);
}

/*
 * Waits for an event of a child of this process, and fills in STATUS. Returns
 * its PID; 0 after a moment without one, or many calls; -1 where there is no
 * child. A call that WATCHED makes is an event where it is CALL for the COUNTth
 * time; others are counted in COUNTS, and made.
 */
pid_t
native_wait(pid_t watched, long call, int count, int counts[CALLS_MAX],
            int *status)
{
	const struct timespec rest = { .tv_nsec = REST_NS };
	struct __ptrace_syscall_info info;
	sigset_t sigchld;

	(void)sigemptyset(&sigchld);
	(void)sigaddset(&sigchld, SIGCHLD);
	for (int i = 0; i < PATIENCE; i++) {
		const pid_t pid = waitpid(-1, status, WNOHANG | __WALL);

		if (pid == 0) {
			if (sigtimedwait(&sigchld, NULL, &rest) == -1 &&
			    errno == EAGAIN)
				return 0;
			continue;
		}
		if (pid != watched || !WIFSTOPPED(*status) ||
		    WSTOPSIG(*status) != SYSCALL_STOP)
			return pid;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) ==
		    -1)
			continue; /* the process was killed */
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY &&
		    info.entry.nr < CALLS_MAX &&
		    ++counts[info.entry.nr] == count &&
		    (long)info.entry.nr == call)
			return pid;
		(void)ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	}
	return 0;
}
