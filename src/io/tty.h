#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#define TTY_PATH_SIZE 64

/* The terminal that target and parent share, as it was at the start. */
struct tty {
	bool is_known; /* false: stdin is no terminal */
	char path[TTY_PATH_SIZE];
	dev_t device;
	struct termios modes;
	pid_t session;       /* the parent's session, */
	pid_t group;         /* and its process group */
	bool was_foreground; /* that group had the terminal */
};

/* Whether stdin is the controlling terminal of this process. */
bool tty_is_stdin(void);

/* Whether this process's job is in the foreground of the terminal on FD.
 * SIGTTIN has to be blocked. */
bool tty_is_ours(int fd);

/* Stores modes, path and owner of the terminal on stdin in *TTY. */
void tty_save(struct tty *tty);

/*
 * Restores the modes, from any session, unless another process group has the
 * terminal by now: a shell that took the terminal back has set its own modes.
 * In the front, also gives the terminal back to the parent's group where the
 * group that had it is dead: a script that goes on after its interactive shell
 * was stopped could not read from the terminal otherwise. Ignores errors, as
 * the terminal may be gone.
 */
void tty_restore(const struct tty *tty);
