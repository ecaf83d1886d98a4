#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct tty_input_page;

/*
 * The input of a command with a pseudo-terminal: a helper reads what is typed
 * at the parent's terminal and writes it to the pseudo-terminal, which
 * interprets characters like Ctrl-C. The parent's terminal is raw while wdrun's
 * job is in the foreground. The helper stays in that job's process group, as
 * the kernel lets no background process read from a terminal.
 *
 * Unless stated otherwise, the front calls these functions, which do nothing if
 * is_used is false.
 */
struct tty_input {
	bool is_used;
	bool is_stdin;     /* the pseudo-terminal is the command's stdin */
	bool shows_output; /* the command's output goes to terminal_fd */
	int terminal_fd;   /* the parent's terminal */
	int master_fd;     /* of the pseudo-terminal; non-blocking */
	int slave_fd;      /* of the pseudo-terminal */
	int wake_fd;       /* eventfd: the helper reads the page again */
	pid_t front;
	pid_t pid;                   /* the helper, child of the front */
	struct tty_input_page *page; /* shared by watchers and helper */
};

/* Makes the page and wake_fd, before the first fork. Returns 0, or -1 with
 * errno of mmap(2) or eventfd(2). */
int tty_input_setup(struct tty_input *input);

/* Starts the helper; NULL_FD is /dev/null. Returns 0, or -1 with errno. */
int tty_input_start(struct tty_input *input, int null_fd);

/* In the target, whose process group is the foreground group of the
 * pseudo-terminal: from now on, input goes there. While the group stays so, the
 * signal of a typed Ctrl-C goes to the parent's job, too. Async-signal-safe. */
void tty_input_note_group(const struct tty_input *input);

/* Before the front stops: has the helper restore the terminal's modes, and
 * waits for the helper, 200 ms at most. */
void tty_input_release(struct tty_input *input);

/* After the stop: has the helper make the terminal raw again. */
void tty_input_take(struct tty_input *input);

/* In the supervisor, after the command's exit: has the helper restore the
 * terminal's modes, and end. */
void tty_input_finish(struct tty_input *input);

/* In the supervisor, when the command has stopped: whether VSUSP (Ctrl-Z) was
 * typed since the last call, and not long ago. If so, the parent's whole job
 * gets SIGTSTP after tty_input_release(). */
bool tty_input_has_stopped(const struct tty_input *input);

/* In a relay: whether the helper has made the parent's terminal raw. */
bool tty_input_is_raw(const struct tty_input *input);

/* In front, supervisor or helper, in any session: restores the terminal's modes
 * if they are still those of the helper. A shell that took the terminal back
 * has set modes of its own. */
void tty_input_restore(const struct tty_input *input);

/* After PID was reaped: if PID was the helper, restores the terminal's modes,
 * and prints a message if the helper was killed. */
void tty_input_note_death(const struct tty_input *input, pid_t pid);

/* Ends the helper, and restores the terminal's modes. */
void tty_input_end(const struct tty_input *input);
