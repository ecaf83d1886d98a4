/* die SIGNAL: dies of SIGNAL, whatever disposition it has inherited. */
#include "bounded.h"

int
main(int argc, char *argv[])
{
	sigset_t set;

	if (argc != 2)
		return 99;
	bound_life();

	const int number = signal_number(argv[1]);

	(void)signal(number, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(number);
	return 99;
}
