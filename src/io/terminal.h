#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <termios.h>

#include "base/fds.h"

/* The modes of the caller's terminal, shared: a watcher that lives restores. */
struct terminal_facts {
	atomic_int is_raw;        /* instead of MODES */
	atomic_int is_over;       /* no more keys: exited, or hung up */
	atomic_uint suspended_ms; /* a stamp: Ctrl-Z was typed; or 0 */
	struct termios modes;     /* before it was raw, or shared */
	pid_t group; /* the command's own, on a terminal of its own */
	/* A full-screen program had turned off line editing on the command's
	 * terminal when a stop began, or when the pseudo-terminal closed. */
	bool had_screen;
	/* When a stop began, no process of the run could set modes: they are
	 * those of an agent, say, around one of its servers. */
	bool is_others;
};

/* The caller's terminal. The command either shares it, as a part of the
 * caller's job (FD is open on it, or -1), or has a pseudo-terminal, to which
 * the front carries the keys (IS_KEYBOARD). Meanwhile the caller's terminal is
 * raw: the pseudo-terminal alone makes signals of keys. */
struct terminal {
	int fd;
	bool is_keyboard;
	bool shows_output;  /* what the command writes comes to FD */
	bool in_foreground; /* the job, when last looked at */
	int typed_ahead;    /* bytes that came before the terminal was raw */
	struct part keys;   /* that were read, for the pseudo-terminal */
	int passed_key; /* the signal that an inner run makes of the last key */
	struct terminal_facts *facts;
};

/* Whether FD is the controlling terminal of this process. */
bool terminal_is_controlling(int fd);

/* Whether the command has no keys: stdin is a device but no terminal, as it is
 * /dev/null for the "&" of a script. */
bool terminal_types_nothing(void);

/* Whether the run is a foreground job: stdin is the controlling terminal, or
 * the job has its foreground. Notes the terminal in TERMINAL, if it can be
 * opened, and the command has keys. SIGTTIN must be blocked, and descriptors 0
 * to 2 open. */
bool terminal_open_shared(struct terminal *terminal);

/* Whether the job of this process has the foreground of the terminal FD. With
 * SIGTTIN blocked: else its read(2) may stop the job. */
bool terminal_has_foreground(int fd);

/* Whether a full-screen program, without line editing, has the terminal FD. */
bool terminal_has_screen(int fd);

/* Puts the screen back after such a program. */
void terminal_reset_screen(const struct terminal *terminal);

/* Whether a terminal that is shared has other modes than at the start. */
bool terminal_is_changed(const struct terminal *terminal);

/* Whether PID may have set the modes of its job's terminal: a pager or password
 * prompt reads keys from it; or it is another user's, as sudo(8) is; or it is
 * IS_OF_RUN, and writes to it. */
bool terminal_may_be_set_by(pid_t pid, bool is_of_run);

/* In the watcher that ends the run: puts back modes and screen after a stop of
 * a command that shared the terminal. Leaves them alone if they are IS_OTHERS;
 * if a living group other than the caller's, JOB, has the foreground; or if a
 * process of JOB not below this one, nor CALLER or above it, may have set them.
 */
void terminal_restore(const struct terminal *terminal, pid_t job, pid_t caller);

/* Looks whether the job has the foreground, and makes the terminal raw if so.
 * In the front, with SIGTTIN and SIGTTOU blocked. */
void terminal_make_raw(struct terminal *terminal);

/* Ends the raw mode, unless another process has chosen other modes since;
 * FOR_GOOD: no more keys are read. In front or supervisor, in any session. */
void terminal_end_raw(const struct terminal *terminal, bool for_good);

/* Reads keys, if there are any, for the pseudo-terminal MASTER. A key of which
 * it makes a signal for the command also signals the caller's job. A raw
 * pseudo-terminal makes none: there, the front of an inner run may. */
void terminal_read_keys(struct terminal *terminal, int master);
