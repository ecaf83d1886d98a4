#ifndef WDRUN_TERMINAL_H
#define WDRUN_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#define TERMINAL_PATH_SIZE 64

/* The terminal that a target shares with its caller, as it was at the start. */
struct terminal {
	bool is_known; /* else nothing is to be restored */
	char path[TERMINAL_PATH_SIZE];
	dev_t device;
	struct termios modes;
	pid_t session; /* the caller's */
	pid_t group;
	bool was_foreground; /* that group */
};

/* Whether stdin is the controlling terminal of this process. */
bool terminal_is_stdin(void);

/* Whether the terminal on FD is that of this process's job, in the foreground.
 * SIGTTIN has to be blocked. */
bool terminal_is_ours(int fd);

/* Notes modes, path and owner of the terminal on stdin in *TERMINAL. */
void terminal_remember(struct terminal *terminal);

/*
 * Puts the modes back as they were, unless somebody else has the terminal by
 * now: a shell that took it back has set it up for itself. Works from another
 * session too. Fails silently: there may be no terminal any more.
 */
void terminal_restore(const struct terminal *terminal);

/*
 * Gives the terminal back to the caller's group where the group that had it is
 * dead: a script that goes on after an interactive shell was stopped could not
 * read from it otherwise. For the front alone, which is in its session.
 */
void terminal_reclaim(const struct terminal *terminal);

#endif
