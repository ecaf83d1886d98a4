/*
 * threads fork [PROGRAM]: a child forked by a thread that is not the main
 * thread. threads leaderless: the same, and then the main thread exits.
 *
 * Such a child is listed in /proc/PID/task/TID/children of its thread only, and
 * a process without its main thread looks like a zombie.
 */
#include "bounded.h"

#include <pthread.h>
#include <stdbool.h>

static bool leaderless;
static char **program; /* of the child */

static void *
fork_and_live(void *unused)
{
	const pid_t child = fork_bounded();

	(void)unused;
	if (child == 0 && *program != NULL)
		(void)execv(program[0], program);
	if (child == 0)
		live();
	if (leaderless)
		await_state("/proc/self/stat", 'Z');
	say_ready(child);
	live();
}

int
main(int argc, char *argv[])
{
	pthread_t thread;

	bound_life();
	if (argc < 2)
		return 99;
	program = &argv[2];
	leaderless = strcmp(argv[1], "leaderless") == 0;

	if (pthread_create(&thread, NULL, fork_and_live, NULL) != 0)
		give_up("pthread_create");
	if (leaderless)
		pthread_exit(NULL);
	live();
}
