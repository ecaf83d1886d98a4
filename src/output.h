#ifndef WDRUN_OUTPUT_H
#define WDRUN_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct run;
struct relay_page;
struct relay_state;
struct keyboard_page;

#define OUTPUT_CHANNELS 2
#define OUTPUT_FDS      5 /* that a watcher has to keep, at most */

/*
 * What the command writes, where wdrun has to see it: how many ways it takes
 * (one for both stdout and stderr, where these are the same file), and what
 * carries it. Without a need to see it there is none of this.
 */
struct channel {
	bool is_stdout;
	bool is_stderr;
	int in_fd;      /* the relay's: a pipe, or a terminal's master */
	int command_fd; /* the command's end, a terminal's slave or */
	bool is_pty;    /* the write end of a pipe */
	int out_fd;     /* the caller's, or -1: nowhere */
	bool is_screen; /* that is a terminal */
	int orders_fd;  /* an eventfd */
	pid_t relay;
};

struct output {
	size_t channel_count;
	struct channel channels[OUTPUT_CHANNELS];
	bool is_open; /* there are relays, and they have work */
	bool told_lost_reader;
	int news[2];
	int tee_fd;
	int copy[2]; /* a pipe to the copyist */
	pid_t copyist;
	int size_fd; /* a terminal of the caller's */
	char *room;  /* for what a relay reads */
	struct relay_page *page;

	/* --pty, with a terminal on stdin */
	bool has_keyboard;
	int keyboard_fd; /* that terminal */
	int keyboard_orders_fd;
	pid_t keyboard;
	struct keyboard_page *keyboard_page;
};

/* Starts the relays as children of this process, the front. Returns 0, or -1
 * with errno of fork(2). */
int output_start(struct run *run);

/* Makes a helper of this process, just forked, that needs no more of RUN's
 * descriptors than the COUNT ones in KEEP. */
void output_become_helper(const struct run *run, int keep[], size_t count);

/* Puts into KEEP, of OUTPUT_FDS or more, the descriptors that a watcher needs
 * on, -1 where there is none. */
void output_keep(const struct run *run, int keep[]);

/* Async-signal-safe, in the target: puts the command's ends in the places of
 * stdout and stderr, and makes a --pty its controlling terminal. Returns 0, or
 * -1 with errno. */
int output_give(const struct run *run);

/* Has the relays deliver what was written until now, then end; or where
 * DETACH, stay for the survivors, beyond this run's end. */
void output_finish(struct run *run, bool detach);

/* Reads what news there is. Does not block. */
void output_listen(struct output *output);

/* When the command has last been heard. NOW, while a reader of its output is
 * what it waits for. */
int64_t output_heard_at(const struct output *output, int64_t now);

/* Since when no reader takes anything of what there is. NOW, if one does. */
int64_t output_stuck_since(const struct output *output, int64_t now);

/* Asks the relays whether there is nothing left to be read; and whether they
 * have all said so since the last time. An answer is news. */
void output_ask(struct output *output);
bool output_has_answered(const struct output *output);

/* Bytes of all channels. */
struct output_sums {
	uint64_t relayed;     /* were delivered */
	uint64_t dropped;     /* could not be written */
	uint64_t undelivered; /* were given up */
};

/* As they are now; the relays go on counting. */
struct output_sums output_sum(const struct output *output);

/* When the text of --until was found, or NEVER. */
int64_t output_found_at(const struct output *output);

/* Whether the reader of a terminal's output has gone since the last call. */
bool output_has_lost_reader(struct output *output);

/* In the front: the caller's terminal has another size. */
void output_resize(const struct run *run);

/* In the front: has RELAY, whose state is in *STATE, stay behind detached, as
 * was the order, should a stuck reader have kept it from that. */
void output_let_go(struct run *run, pid_t relay,
                   const struct relay_state *state);

/* In the front, when all is over: ends relays that are still there, and tells
 * how much they could not deliver. */
void output_end(struct run *run);

/* In the front: PID was reaped. If it was a helper that did not end as it
 * should, that is told. */
void output_note_death(struct run *run, pid_t pid);

#endif
