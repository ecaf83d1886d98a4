#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* The terminal of the parent's job, as it was at the start. */
struct tty {
	int fd; /* open on it, close-on-exec; -1: there is none */
	struct termios modes;
	pid_t session;       /* the parent's session, */
	pid_t group;         /* and its process group */
	bool was_foreground; /* that group had the terminal */
};

/* Whether FD is the controlling terminal of this process. */
bool tty_is_controlling(int fd);

/* Whether this process's job is in the foreground of the terminal on FD.
 * SIGTTIN has to be blocked. */
bool tty_is_ours(int fd);

/*
 * Whether this process's job has a terminal: stdin is its controlling terminal,
 * or the job is in the foreground of that terminal, wherever stdin comes from.
 * Stores the terminal in *TTY. The caller has SIGTTIN blocked, and descriptors
 * 0 to 2 open.
 */
bool tty_open(struct tty *tty);

/*
 * Restores the modes, from any session, unless another process group has the
 * terminal by now: a shell that took the terminal back has set its own modes.
 * In the front, also gives the terminal back to the parent's group where the
 * group that had it is dead: a script that goes on after its interactive shell
 * was stopped could not read from the terminal otherwise. Ignores errors, as
 * the terminal may be gone.
 */
void tty_restore(const struct tty *tty);
