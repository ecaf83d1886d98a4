#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/relay.h"
#include "io/tty_input.h"

#define OUTPUT_FDS (4 + RELAYS_MAX) /* most that output_keep() stores */

/* A pipe or pseudo-terminal that the command writes to, and its relay. */
struct channel {
	bool is_stdout;      /* carries the command's stdout */
	bool is_stderr;      /* its stderr; both, if they are the same file */
	bool is_on_terminal; /* the parent's descriptor is a terminal */
	int command_fd;      /* the end that the command writes to */
	pid_t pid;           /* the relay's; 0 or -1: there is none */
	struct relay relay;
};

/* What wdrun does with the output. Set before output_setup(). */
struct output_config {
	const char *until; /* text to look for, or NULL */
	const char *tee;   /* path of the file that gets a copy, or NULL */
	bool is_timed;     /* the time of the last output is needed */
	bool pty;          /* --pty */
	bool stays;        /* no terminal of its own, unless by --pty */
	bool no_stdin;     /* the command's stdin is not the parent's */
	bool quiet;        /* no message about lost output at the end */
	int null_fd;       /* open on /dev/null */
};

/* The command's output. Where nothing in the configuration needs to see it, the
 * command gets stdout and stderr as wdrun has them: then channel_count is 0,
 * and these functions do nothing. */
struct output {
	struct output_config config;
	size_t channel_count;
	struct channel channels[RELAYS_MAX];
	bool has_pty;       /* the command has a terminal of its own, which the
	                     * first channel leads to */
	bool is_open;       /* a relay lives that has not detached */
	int notify_pipe[2]; /* relays write; the watchers read [0] */
	int size_fd;        /* a terminal of the parent's, or -1 */
	struct relay_page *page;
	struct tty_input tty_input;
};

/* Starts relays and tty_input as children of this process, the front. Returns
 * 0, or -1 with errno of fork(2). */
int output_start(struct output *output);

/* Stores in KEEP, of OUTPUT_FDS items, the descriptors that front and
 * supervisor need; 0 or -1 where there is none. */
void output_keep(const struct output *output, int keep[]);

/* In the supervisor, which leads a session: makes the command's own terminal,
 * if it has one, that of the session. Returns 0, or -1 with errno. */
int output_lead(const struct output *output);

/* In the target, which leads a process group of that session,
 * async-signal-safe: makes the relays' pipes or terminals stdout and stderr,
 * and puts the group in the foreground of the command's own terminal. Returns
 * 0, or -1 with errno. */
int output_connect(const struct output *output);

/* In the supervisor, the target being dead: its own terminal is no longer that
 * of a command, and the caller's has its modes back. */
void output_note_exit(struct output *output);

/* Has the relays deliver what was written until now, and end; or with DETACH,
 * stay for the survivors beyond the end of this run. */
void output_finish(struct output *output, bool detach);

/* Empties the notify pipe. is_open becomes false when the last relay is gone.
 */
void output_read_notices(struct output *output);

/* Asks the relays whether there is nothing left to be read. They send notices.
 */
void output_ask(struct output *output);

/* What all relays together have done. Times are those of duration_now(). */
struct output_progress {
	int64_t heard_at;     /* when the command wrote last, or 0; NOW, while
	                       * a relay waits for a reader of the output */
	int64_t stuck_since;  /* when the last relay began to wait for a reader;
	                       * NOW, if a relay does not wait */
	int64_t found_at;     /* when the text of --until was read, or NEVER */
	uint64_t relayed;     /* bytes delivered, */
	uint64_t dropped;     /* lost by write errors, */
	uint64_t undelivered; /* and not taken by a reader in time */
	bool has_answered;    /* each relay, what output_ask() asked */
};

/* The progress at this moment. */
struct output_progress output_read_progress(const struct output *output,
                                            int64_t now);

/* In the front: waits until the relays have delivered what was written, at most
 * a second. */
void output_drain(struct output *output);

/* Whether the reader of a pseudo-terminal's output is gone; told once. */
bool output_has_lost_reader(const struct output *output);

/* Has the relays look at their orders, and at the window size of the parent's
 * terminal. */
void output_wake(const struct output *output);

/* In the front: continues relays and tty_input that a signal has stopped. */
void output_continue(const struct output *output);

/* In the front: PID was reaped. Prints a message if PID was one of these
 * helpers and was killed. */
void output_note_death(struct output *output, pid_t pid);

/* In the front, when the run is over: ends the helpers, or lets them detach,
 * and tells how many bytes they could not deliver. */
void output_end(struct output *output);
