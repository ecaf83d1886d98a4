/*
 * crowd NUMBER: NUMBER idle children. `ready` names the last of them.
 */
#include "bounded.h"

int
main(int argc, char *argv[])
{
	const int number = argc > 1 ? atoi(argv[1]) : 1000;
	pid_t last = -1;

	bound_life();
	for (int i = 0; i < number; i++) {
		last = fork_bounded();
		if (last == 0)
			live();
	}
	say_ready(last);
	live();
}
