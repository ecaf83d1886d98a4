/* waitid(2), asked by the watchers about their own children. */
#include "children.h"

#include <sys/wait.h>

#include <errno.h>
#include <time.h>

#include "duration.h"

#define TRIES 1000

pid_t
children_look(pid_t pid, int options, siginfo_t *info)
{
	const struct timespec pause = { .tv_nsec = MILLISECOND };

	for (int i = 0; i < TRIES; i++) {
		info->si_pid = CHILD_NONE_READY;
		if (waitid(pid == ANY_CHILD ? P_ALL : P_PID, (id_t)pid, info,
		           options | WNOHANG | __WALL) == 0)
			return info->si_pid;
		if (errno == ECHILD)
			return CHILD_NONE_LEFT;
		(void)nanosleep(&pause, NULL);
	}
	return CHILD_UNKNOWN;
}

bool
children_are_alive(pid_t pid)
{
	siginfo_t info;

	return children_look(pid, WSTOPPED | WNOWAIT, &info) != CHILD_NONE_LEFT;
}

pid_t
children_reap(pid_t pid)
{
	siginfo_t info;

	return children_look(pid, WEXITED, &info);
}
