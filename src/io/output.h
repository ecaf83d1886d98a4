#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/terminal.h"

struct options;

#define STREAMS_MAX 2
/* A pipe holds no more: so one read takes all, up to the end of a write. */
#define CHUNK_SIZE ((size_t)1024 * 1024)

/* Where an option has to see the output, the command's stdout and stderr are
 * pipes or pseudo-terminals, and the front carries what comes out of them. One
 * stream serves both, in order, where both are the same file. */
struct stream {
	bool is_stdout; /* or stderr alone */
	int in_fd;      /* the end that is read; -1: end-of-file, or closed */
	int out_fd;     /* to the caller; -1: what comes is discarded */
	int model_fd;   /* the caller's terminal, if any, for modes and size */
	char *text;     /* the room for a chunk, and for its copy */
	bool is_copied; /* to the file of --tee */
	bool has_messages;  /* OUT_FD is the file that is stderr, too */
	bool is_terminal;   /* OUT_FD: lines end with "\r\n" */
	bool is_watched;    /* OUT_FD is a pipe: tell when its reader is gone */
	struct part chunk;  /* written to its end before the next is read */
	struct part copy;   /* of it, for --tee, without returns */
	bool keeps_return;  /* a "\r" at the end of the last chunk */
	size_t tail;        /* bytes before COPY: the last chunk's end */
	bool in_found_line; /* the line with a text of --until has not ended */
};

enum { FOUND_SUCCESS = 1, FOUND_FAILURE = 2 }; /* 1 << i in find_texts() */

/* Shared by both watchers. The front writes most of it. */
struct output_facts {
	struct terminal_facts terminal;
	int64_t started; /* the target: the supervisor notes it; 0: not yet */
	int64_t heard;   /* when the command was last noted as not silent */
	atomic_int is_silent; /* --idle-timeout is over: reset when seen */
	atomic_uint found;    /* the texts of --until that have come */
	atomic_int went_on;   /* output came after the line of such a text */
	int64_t found_at;     /* the first, written before FOUND */
	uint64_t relayed;     /* bytes written */
	uint64_t undelivered; /* bytes that are lost */
	bool stdout_is_lost;  /* in part, by an error not of its reader */
};

/* Each watcher has a copy. */
struct output {
	int fds[3]; /* the command's 0 to 2: a stream's end, or the caller's */
	size_t count; /* of streams; 0: nothing is carried */
	struct stream streams[STREAMS_MAX];
	bool has_pty;        /* the first stream is the controlling terminal */
	int tee_fd;          /* or -1 */
	int64_t quiet_since; /* when silence began */
	uint64_t taken;      /* bytes that the front has read */
	const struct options *options;
	struct terminal terminal;
	struct output_facts *facts;
};

/* Makes the streams that OPTIONS need, before the first fork. OUTPUT is all 0
 * but for FACTS. Returns 0, or -1 after a message. */
int output_setup(struct output *output, const struct options *options);

/* In the target, a process group leader: makes the command's descriptors 0 to
 * 2, and its group that of the foreground. Returns 0, or -1 with errno. */
int output_connect(const struct output *output);

/* Copies the size of the caller's terminal; the kernel sends SIGWINCH. */
void output_copy_size(const struct output *output);

/* Closes what this watcher does not need while the command runs. */
void output_close_ends(const struct output *output, bool is_front);

/* --- pump.c: in the front ------------------------------------------------- */

/* Waits until UNTIL (duration_now(), or NEVER) for output, keys and SIGNAL_FD
 * (or -1), and carries what has come. Returns true once for each fact that is
 * news for the supervisor: IS_SILENT, FOUND. */
bool output_pump(struct output *output, int signal_fd, int64_t until);

/* Notes that the command is not silent now. */
void output_note_heard(struct output *output);

/* Whether all is delivered that dead processes have written; with AT_END, also
 * that no living process can write more. */
bool output_is_empty(const struct output *output, bool at_end);

/* Writes what the readers take at once, and closes the streams. Tells how many
 * bytes of each stream's last 2 MiB are lost, and how many of the copy. */
void output_finish(struct output *output);
