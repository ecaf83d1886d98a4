#ifndef WDRUN_KEYBOARD_H
#define WDRUN_KEYBOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/*
 * The keyboard: a process that carries what is typed at the caller's terminal
 * to a pseudo-terminal, which makes of it what a terminal does (Ctrl-C…). For
 * that the caller's is raw as long as its job has it. It stays in the caller's
 * process group, since nobody else may read a terminal.
 */

/* Memory that it shares with the watchers. */
struct keyboard_page {
	_Atomic bool is_wanted; /* the terminal is to be raw */
	_Atomic bool is_raw;    /* it was made that: then */
	struct termios modes;   /* is what it was, and */
	struct termios raw;     /* what it is */
	_Atomic bool is_done;   /* the keyboard ended in good order */
};

struct keyboard {
	pid_t parent;
	int terminal_fd;
	int master_fd;  /* does not block */
	int orders_fd;  /* an eventfd: look at is_wanted again */
	bool is_screen; /* the output is on the terminal too */
	struct keyboard_page *page;
};

/*
 * Puts the modes of the terminal on FD back, if they are still those that a
 * keyboard has set: a shell that took the terminal back has set it up for
 * itself, or has not. Any watcher may do that, from any session.
 */
void keyboard_put_back(int fd, struct keyboard_page *page);

/* Carries until the terminal is gone, HELPER_GIVE_UP comes, or SIGCONT, which
 * reaches also who is stopped, when the parent is dead. For a process of its
 * own, in which all signals are blocked. */
_Noreturn void keyboard_run(const struct keyboard *keyboard);

#endif
