/*
 * sigcount [NUMBER]: prints `ready PID`, then `got N` for each signal N that it
 * gets, in their order, and exits with 7 after SIGTERM, or after NUMBER
 * signals.
 */
#include "bounded.h"

int
main(int argc, char *argv[])
{
	int left = argc > 1 ? atoi(argv[1]) : -1;
	sigset_t all;

	bound_life();
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);

	say_ready(getpid());
	for (;;) {
		const int number = sigwaitinfo(&all, NULL);

		if (number == -1)
			continue; /* EINTR: the process was stopped and
			             continued */
		(void)dprintf(STDOUT_FILENO, "got %d\n", number);
		if (number == SIGTERM || --left == 0)
			return 7;
	}
}
