/* Looks at the children of this process: waitid(2). */
#include "proc/wait.h"

#include <sys/wait.h>

#include <errno.h>

#define TRIES 16

pid_t
wait_peek(pid_t pid, int options, siginfo_t *info)
{
	const idtype_t type = pid == ANY_CHILD ? P_ALL : P_PID;

	for (int i = 0; i < TRIES; i++) {
		info->si_pid = CHILD_NONE_READY;
		if (waitid(type, (id_t)pid, info, options | WNOHANG) == 0)
			return info->si_pid;
		if (errno == ECHILD)
			return CHILD_NONE_LEFT;
	}
	return CHILD_UNKNOWN;
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
