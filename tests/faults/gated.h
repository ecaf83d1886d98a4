#pragma once

#include <sys/types.h>

struct program {
	const char *path;
	char *const *argv;
	int terminal_fd;    /* if not -1, its stdin and stdout */
	const char *output; /* else the file that stdout goes to */
	const char *errors; /* and stderr */
};

/*
 * Forks a process that executes PROGRAM as soon as the descriptor *GATE is
 * closed, with no signal blocked. Returns its PID. A failure ends this program.
 */
pid_t gated_start(const struct program *program, int *gate);
