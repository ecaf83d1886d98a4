#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/* The terminal of wdrun's job, as it was at the start. */
struct tty {
	int fd; /* open on the terminal, close-on-exec; or -1 */
	struct termios modes;
	pid_t session;       /* the front's session */
	pid_t group;         /* the front's process group */
	bool was_foreground; /* group was the foreground group */
};

/* Whether FD is the controlling terminal of this process. */
bool tty_is_controlling(int fd);

/* Whether this process's job is in the foreground of the terminal on FD.
 * SIGTTIN must be blocked. */
bool tty_is_ours(int fd);

/* Whether this process's job has a terminal: stdin is the controlling terminal,
 * or the job is in the foreground of the controlling terminal. Stores the
 * terminal in *TTY, with a descriptor or -1. SIGTTIN must be blocked, and
 * descriptors 0 to 2 open. */
bool tty_open(struct tty *tty);

/*
 * Restores the terminal's modes, from any session, unless another living
 * process group is in the foreground: a shell that took the terminal back has
 * set modes of its own. In the front, also makes the front's group the
 * foreground group if the present foreground group is dead: otherwise a script
 * could not read from the terminal after wdrun has ended an interactive shell.
 * Ignores errors, as the terminal may be gone.
 */
void tty_restore(const struct tty *tty);
