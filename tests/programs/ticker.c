/*
 * ticker EVERY_MS COUNT CODE: exits with CODE at once and leaves a child that
 * prints `tick 1`, `tick 2`… every EVERY_MS, COUNT times (0: until its bounded
 * life ends), and then `done`.
 */
#include "bounded.h"

int
main(int argc, char *argv[])
{
	if (argc != 4)
		return 99;

	const useconds_t every_ms = (useconds_t)atoi(argv[1]);
	const int count = atoi(argv[2]);

	bound_life();
	if (fork_bounded() != 0)
		return atoi(argv[3]);
	for (int i = 1; count == 0 || i <= count; i++) {
		(void)usleep(every_ms * 1000);
		if (dprintf(STDOUT_FILENO, "tick %d\n", i) < 0)
			return 1;
	}
	(void)dprintf(STDOUT_FILENO, "done\n");
	return 0;
}
