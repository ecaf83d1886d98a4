/*
 * A tree of idle processes, for stopping.c.
 *
 * Usage: tree SHAPE COUNT PIDS_FD LEASH_FD
 *
 * COUNT processes in all. SHAPE: "group" (all are children of the first, and in
 * its group), "sessions" (the same, but each child in a session of its own,
 * where a signal to the group does not reach) or "chain" (each the child of the
 * one before, and in a session of its own).
 *
 * Each writes its PID, as bytes, to PIDS_FD, and exits when it reads
 * end-of-file from LEASH_FD, so that the tree never outlives the benchmark.
 */
#include <sys/types.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void
idle(int pids_fd, int leash_fd)
{
	const pid_t self = getpid();
	char byte;

	if (write(pids_fd, &self, sizeof(self)) != (ssize_t)sizeof(self))
		_exit(1);
	(void)close(pids_fd);
	while (read(leash_fd, &byte, 1) == -1 && errno == EINTR)
		;
	_exit(0);
}

int
main(int argc, char *argv[])
{
	if (argc != 5) {
		(void)fprintf(stderr,
		              "usage: tree SHAPE COUNT PIDS_FD LEASH_FD\n");
		return 2;
	}

	const int is_chain = strcmp(argv[1], "chain") == 0;
	const int has_sessions = strcmp(argv[1], "group") != 0;
	const long count = strtol(argv[2], NULL, 10);
	const int pids_fd = (int)strtol(argv[3], NULL, 10);
	const int leash_fd = (int)strtol(argv[4], NULL, 10);

	for (long i = 1; i < count; i++) {
		const pid_t pid = fork();
		const int is_child = pid == 0;

		if (pid == -1 || (is_child && has_sessions && setsid() == -1)) {
			perror("tree");
			return 1;
		}
		if (is_child != is_chain)
			break; /* a child of "group" or "sessions", a parent of
			          "chain" */
	}
	idle(pids_fd, leash_fd);
}
