#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/relay.h"
#include "io/tty_input.h"

#define OUTPUT_FDS (4 + RELAYS_MAX) /* items that output_keep() stores */

/* A pipe or pseudo-terminal that the command writes to, and its relay. */
struct channel {
	bool is_stdout;      /* carries the command's stdout */
	bool is_stderr;      /* carries the command's stderr */
	bool is_on_terminal; /* wdrun's own descriptor is a terminal */
	int command_fd;      /* the end that the command writes to */
	pid_t pid;           /* of the relay; 0 or -1: none */
	struct relay relay;
};

/* What wdrun does with the output. Set before output_setup(). */
struct output_config {
	const char *until; /* text to look for, or NULL */
	const char *tee;   /* path of the file that gets a copy, or NULL */
	bool is_timed;     /* the time of the last output is needed */
	bool pty;          /* --pty */
	bool stays;        /* no pseudo-terminal, unless by --pty */
	bool no_stdin;     /* the command's stdin is not wdrun's */
	bool quiet;        /* no message about lost output at the end */
	int null_fd;       /* open on /dev/null */
};

/* The command's output. If the configuration needs no relay, the command gets
 * wdrun's own stdout and stderr, channel_count is 0, and these functions do
 * nothing. */
struct output {
	struct output_config config;
	size_t channel_count;
	struct channel channels[RELAYS_MAX];
	bool has_pty;       /* the first channel is a pseudo-terminal, the
	                     * command's controlling terminal */
	bool is_open;       /* a relay is alive and not detached */
	int notify_pipe[2]; /* relays write [1]; the watchers read [0] */
	int size_fd;        /* the parent's terminal, or -1 */
	struct relay_page *page;
	struct tty_input tty_input;
};

/* In the front: starts relays and the helper of tty_input. Returns 0, or -1
 * with errno of clone(2). */
int output_start(struct output *output);

/* Stores in KEEP, of OUTPUT_FDS items, the descriptors that front and
 * supervisor need; unused items are 0 or -1. */
void output_keep(const struct output *output, int keep[]);

/* In the supervisor, a session leader: makes the pseudo-terminal, if any, the
 * controlling terminal. Returns 0, or -1 with errno of ioctl(2). */
int output_lead(const struct output *output);

/* In the target, a process group leader: makes the channels stdout and stderr,
 * the pseudo-terminal also stdin if tty_input.is_stdin, and the group its
 * foreground group. Async-signal-safe. Returns 0, or -1 with errno of dup2(2)
 * or tcsetpgrp(3). */
int output_connect(const struct output *output);

/* In the supervisor, when the target is dead: takes the foreground of the
 * pseudo-terminal, and has the parent's terminal restored. */
void output_note_exit(struct output *output);

/* Orders the relays to deliver what was written until now, and to end; or with
 * DETACH, to go on for the survivors beyond the end of this run. */
void output_finish(struct output *output, bool detach);

/* Empties the notify pipe. Clears is_open when the last relay is gone. */
void output_read_notices(struct output *output);

/* Asks the relays whether all output was read: has_answered, after a notice. */
void output_ask(struct output *output);

/* What the relays have done. Times are those of duration_now(). */
struct output_progress {
	int64_t heard_at;     /* last read or write of a relay, or 0; NOW,
	                       * while a relay waits for its reader */
	int64_t stuck_since;  /* since when all relays wait for their readers;
	                       * NOW, if a relay does not */
	int64_t found_at;     /* when the text of --until was read, or NEVER */
	uint64_t relayed;     /* bytes delivered */
	uint64_t dropped;     /* bytes lost by write errors */
	uint64_t undelivered; /* bytes not taken by a reader in time */
	bool has_answered;    /* all relays have answered output_ask() */
};

/* Returns the progress at NOW. */
struct output_progress output_read_progress(const struct output *output,
                                            int64_t now);

/* In the front: waits until the relays have delivered what was written, a
 * second at most. */
void output_drain(struct output *output);

/* Whether the reader of a pseudo-terminal's output is gone; true only once. */
bool output_has_lost_reader(const struct output *output);

/* Wakes the relays, to read page->order and the parent's window size. */
void output_wake(const struct output *output);

/* In the front: continues relays and tty_input's helper if they are stopped. */
void output_continue(const struct output *output);

/* In the front, after PID was reaped: prints a message if PID was a relay or
 * tty_input's helper and was killed. */
void output_note_death(struct output *output, pid_t pid);

/* In the front, when the run is over: ends the helpers, or lets relays detach,
 * and prints how many bytes the relays could not deliver. */
void output_end(struct output *output);
