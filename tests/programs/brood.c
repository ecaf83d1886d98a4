/*
 * brood NUMBER: forks NUMBER children, one after the other. Each makes a
 * session of its own and executes itself with an empty environment: once its
 * parent is dead, nothing tells whose child it was. It says that it is ready
 * after the first few.
 */
#include "bounded.h"

#define PAUSE_US    200
#define READY_AFTER 10

static _Noreturn void
be_child(void)
{
	char *const arguments[] = { "brood", NULL };
	char *const nothing[] = { NULL };

	(void)setsid();
	(void)execve("/proc/self/exe", arguments, nothing);
	give_up("execve");
}

int
main(int argc, char *argv[])
{
	const int number = argc > 1 ? atoi(argv[1]) : 0;

	bound_life();
	for (int i = 0; i < number; i++) {
		if (fork_bounded() == 0)
			be_child();
		if (i == READY_AFTER)
			say_ready(getpid());
		(void)usleep(PAUSE_US);
	}
	live();
}
