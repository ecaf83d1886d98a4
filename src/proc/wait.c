/* Looks at the children of this process: waitid(2). */
#include "proc/wait.h"

#include <sys/wait.h>

pid_t
wait_peek(pid_t pid, int options, siginfo_t *info)
{
	info->si_pid = CHILD_NONE_READY;
	/* With WNOHANG, ECHILD is the only failure. */
	if (waitid(pid == ANY_CHILD ? P_ALL : P_PID, (id_t)pid, info,
	           options | WNOHANG) == -1)
		return CHILD_NONE_LEFT;
	return info->si_pid;
}

bool
wait_has_living(pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WSTOPPED | WNOWAIT, &info) != CHILD_NONE_LEFT;
}

pid_t
wait_reap(pid_t pid)
{
	siginfo_t info;

	return wait_peek(pid, WEXITED | __WALL, &info);
}
