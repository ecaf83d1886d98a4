/*
 * storm NUMBER: a fork storm. Each process makes a session of its own and forks
 * children that do the same, until there have been NUMBER processes. It says
 * that it is ready when a tenth of them exist, in the middle of the storm.
 */
#include "bounded.h"

#include <stdatomic.h>

static atomic_int *born; /* how many were forked, shared by all */

static _Noreturn void
rage(int limit)
{
	while (atomic_fetch_add(born, 1) < limit) {
		if (fork_bounded() == 0)
			(void)setsid();
		(void)usleep(500);
	}
	live();
}

int
main(int argc, char *argv[])
{
	const int limit = argc > 1 ? atoi(argv[1]) : 300;

	bound_life();
	born = share(sizeof(*born));

	const pid_t first = fork_bounded();

	if (first == 0)
		rage(limit);
	while (atomic_load(born) < limit / 10)
		(void)usleep(100);
	say_ready(first);
	live();
}
