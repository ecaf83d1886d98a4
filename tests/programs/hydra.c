/*
 * hydra HEADS MAX: HEADS chains of processes, each process in a session of its
 * own. When the parent of a process dies, the process forks two successors, as
 * long as MAX processes were not exceeded: then hydra says `outgrown`. Who
 * kills processes as it finds them gets more of them; who stops all of them
 * first, does not.
 */
#include "bounded.h"

#include <stdatomic.h>
#include <sys/prctl.h>

#define LENGTH 4 /* of a chain */

static atomic_int *born; /* how many were forked, shared by all */
static int most;

static void grow(int length);

static void
await_death_of(pid_t parent)
{
	sigset_t told;
	int number;

	(void)sigemptyset(&told);
	(void)sigaddset(&told, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &told, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGUSR1) == -1)
		give_up("prctl");
	if (getppid() == parent)
		(void)sigwait(&told, &number);
}

static _Noreturn void
be_head(pid_t parent, int length)
{
	(void)setsid();
	if (length > 1)
		grow(length - 1);
	await_death_of(parent);
	grow(1);
	grow(1);
	live();
}

static void
grow(int length)
{
	const pid_t self = getpid();
	const int before = atomic_fetch_add(born, 1);

	if (before == most)
		dprintf(STDOUT_FILENO, "outgrown\n");
	if (before < most && fork_bounded() == 0)
		be_head(self, length);
}

int
main(int argc, char *argv[])
{
	const int heads = argc > 1 ? atoi(argv[1]) : 10;

	bound_life();
	most = argc > 2 ? atoi(argv[2]) : 1000;
	born = share(sizeof(*born));
	(void)signal(SIGTERM, SIG_IGN);
	for (int i = 0; i < heads; i++)
		grow(LENGTH);
	while (atomic_load(born) < heads * LENGTH)
		(void)usleep(1000);
	say_ready(getpid());
	live();
}
