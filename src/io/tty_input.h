#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct tty_input_page;

/*
 * --pty, where stdin is a terminal: a helper reads what is typed at the
 * parent's terminal and writes it to the command's pseudo-terminal, which
 * interprets keys like Ctrl-C. The parent's terminal is in raw mode as long as
 * wdrun's job is in the foreground. The helper stays in that job's process
 * group, because the kernel lets no background process read a terminal.
 *
 * The front calls these functions. Where is_used is false, they do nothing.
 */
struct tty_input {
	bool is_used;
	bool is_stdin;     /* the command's pseudo-terminal is its stdin too */
	bool shows_output; /* the command's output goes to this terminal too */
	int terminal_fd;   /* the parent's terminal */
	int master_fd;     /* of the command's pseudo-terminal; non-blocking */
	int slave_fd;      /* its other end */
	int wake_fd;       /* eventfd: the helper looks at the page again */
	pid_t front;
	pid_t pid;                   /* the helper, child of the front */
	struct tty_input_page *page; /* shared by watchers and helper */
};

/* Makes the page and wake_fd. Comes before there is a second process. Returns
 * 0, or -1 with errno of mmap(2) or eventfd(2). */
int tty_input_setup(struct tty_input *input);

/* Starts the helper; NULL_FD is /dev/null. Returns 0, or -1 with errno. */
int tty_input_start(struct tty_input *input, int null_fd);

/* In the target, whose process group has the pseudo-terminal: keys go there
 * from now on, and the signal of a typed Ctrl-C to the parent's job too, as
 * long as that group has it. Async-signal-safe. */
void tty_input_note_group(const struct tty_input *input);

/* Before the front stops: has the helper restore the terminal's modes, and
 * waits for that, at most a fifth of a second. */
void tty_input_release(struct tty_input *input);

/* After the stop: has the helper make the terminal raw again. */
void tty_input_take(struct tty_input *input);

/* For the supervisor: the command has exited. The helper restores the
 * terminal's modes, and ends. */
void tty_input_finish(struct tty_input *input);

/* For the supervisor, when the command has stopped: whether the character was
 * typed for that, since the last call. If so, the parent's whole job gets
 * SIGTSTP, after tty_input_release(). */
bool tty_input_has_stopped(const struct tty_input *input);

/* For a relay: whether the parent's terminal is raw, as the helper sets it. */
bool tty_input_is_raw(const struct tty_input *input);

/* In front, supervisor or helper, from any session: restores the terminal's
 * modes if they are still what the helper has set. A shell that took the
 * terminal back has set its own. */
void tty_input_restore(const struct tty_input *input);

/* PID was reaped. If PID was the helper, restores the terminal, and prints a
 * message if the helper was killed. */
void tty_input_note_death(const struct tty_input *input, pid_t pid);

/* Ends the helper, and restores the terminal. */
void tty_input_end(const struct tty_input *input);
