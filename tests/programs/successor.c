/*
 * successor: on SIGTERM it forks a successor with a session of its own, which
 * does the same, and exits with 0. Only SIGKILL, or the bounded life, ends the
 * last one.
 */
#include "bounded.h"

int
main(void)
{
	sigset_t term;
	int number;

	bound_life();
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &term, NULL);

	say_ready(getpid());
	for (;;) {
		if (sigwait(&term, &number) != 0)
			give_up("sigwait");
		if (fork_bounded() != 0)
			_exit(0);
		(void)setsid();
	}
}
