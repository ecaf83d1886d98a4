/*
 * chain [PAUSE_US]: a chain of processes, each of which makes a session of its
 * own, forks the next and exits: no process is where it was seen. The chain
 * ends after LIFE_SECONDS, or when the working directory has a file stop-chain,
 * which the harness makes for a chain that wdrun did not end.
 */
#include "bounded.h"

#include <stdint.h>

static int64_t
now_seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static _Noreturn void
run_on(useconds_t pause_us)
{
	const int64_t deadline = now_seconds() + LIFE_SECONDS;

	while (now_seconds() < deadline && access("stop-chain", F_OK) == -1) {
		const pid_t next = fork();

		if (next > 0)
			_exit(0);
		if (next == 0)
			(void)setsid();
		if (pause_us > 0 || next == -1)
			(void)usleep(next == -1 ? 1000 : pause_us);
	}
	_exit(0);
}

int
main(int argc, char *argv[])
{
	const useconds_t pause_us = argc > 1 ? (useconds_t)atoi(argv[1]) : 0;
	const pid_t first = fork();

	if (first == -1)
		give_up("fork");
	if (first == 0)
		run_on(pause_us);
	bound_life();
	say_ready(first);
	live();
}
