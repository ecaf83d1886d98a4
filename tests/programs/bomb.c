/*
 * bomb: a fork bomb at its limit. Each process is deaf, makes a session of its
 * own and forks for ever, as fast as it is let; RLIMIT_NPROC lets there be
 * PROCESSES of the user's in all. All is over BOMB_SECONDS after the start, and
 * root, for whom there is no such limit, cannot start it. It says that it is
 * ready when the limit is reached.
 */
#include "bounded.h"

#include <errno.h>
#include <sys/resource.h>

#define PROCESSES    40
#define BOMB_SECONDS 20

static time_t end; /* of all of them */

/* In each process. bounded.h would bound each life, but not that of the
 * bomb. */
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
