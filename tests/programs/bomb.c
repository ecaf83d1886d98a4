/*
 * bomb: a fork bomb at its limit. Each process ignores signals, makes a session
 * of its own and forks as fast as it can; RLIMIT_NPROC allows PROCESSES
 * processes of the user in all. All of them end BOMB_SECONDS after the start.
 * Root, for whom this limit does not hold, cannot start it. It says that it is
 * ready when the limit is reached.
 */
#include "bounded.h"

#include <errno.h>
#include <sys/resource.h>

#define PROCESSES    40
#define BOMB_SECONDS 20

static time_t end; /* the moment at which all processes end */

/*
 * Called in each process: bounded.h would bound each process's life, but not
 * the life of the bomb.
 */
static void
bound_bomb(void)
{
	const time_t left = end - time(NULL);

	if (left <= 0)
		_exit(0);
	(void)alarm((unsigned)left);
}

static void
ignore_every_signal(void)
{
	for (int i = 1; i <= SIGRTMAX; i++) {
		if (i != SIGALRM && i != SIGCHLD)
			(void)signal(i, SIG_IGN);
	}
}

int
main(void)
{
	const struct rlimit limit = { PROCESSES, PROCESSES };
	const pid_t first = getpid();
	int was_refused = 0;

	end = time(NULL) + BOMB_SECONDS;
	(void)signal(SIGALRM, SIG_DFL);
	bound_bomb();
	if (getuid() == 0 || geteuid() == 0 ||
	    setrlimit(RLIMIT_NPROC, &limit) == -1) {
		fprintf(stderr, "bomb: not without a limit\n");
		return 99;
	}
	ignore_every_signal();
	while (time(NULL) < end) {
		const pid_t pid = fork();

		if (pid == 0) {
			bound_bomb();
			(void)setsid();
		}
		if (pid == -1 && getpid() == first && !was_refused) {
			was_refused = 1;
			say_ready(first);
		}
	}
	return 0;
}
