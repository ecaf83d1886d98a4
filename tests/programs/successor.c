/*
 * successor: on SIGTERM it forks a successor, which does as it did, in a
 * session of its own, and exits 0. To end it takes SIGKILL, or patience.
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
