#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tree;
struct strbuf;

#define LOOK_MAX       32  /* processes that are shown */
#define LOOK_COMMAND   200 /* bytes of a command line */
#define LOOK_STREAMS   3
#define LOOK_LINK_SIZE 32  /* holds "socket:[4294967295]" */
#define WAIT_SIZE      512 /* of what a process waits for, in words */

/* A process, as it was seen. */
struct sight {
	pid_t pid;
	pid_t parent;
	int indent;      /* of its line, in columns */
	bool is_refused; /* this process may not signal it */

	char state;           /* proc(5) */
	int stop_signal;      /* as in struct procstat */
	bool has_times;       /* AGE and CPU are known */
	int64_t age;          /* nanoseconds */
	int64_t cpu;          /* nanoseconds, of reaped children too */
	int64_t memory;       /* KiB that it has in memory */
	char wait[WAIT_SIZE]; /* "sleeping", or "" */
	char command[LOOK_COMMAND + 1]; /* quoted and shortened; "[sleep]" */
};

/* A look at a tree; at first all 0. */
struct look {
	/* Of look_note_streams(): "pipe:[4711]" as in /proc/PID/fd, or "". */
	char streams[LOOK_STREAMS][LOOK_LINK_SIZE];
	/* The caller sets these. */
	bool tells_holders; /* of the output */
	pid_t target;       /* the command's process; 0: not known */
	int stop_signal;    /* that has suspended the target; or 0 */

	bool is_partial; /* the tree was not read to its end */
	bool is_denied;  /* a call may not be read */
	bool is_refused; /* no call may be read: then none is tried again */

	size_t total; /* processes in the tree */
	size_t count; /* of them in SIGHTS, each before its children */
	struct sight sights[LOOK_MAX];
};

/* Notes which of the command's FDS, 0 to 2, are pipes or sockets: a process
 * that holds its output open keeps the reader waiting. */
void look_note_streams(struct look *look, const int fds[LOOK_STREAMS]);

/* look_glance() notes the processes of TREE, as last read, by reads that cannot
 * hang. look_take() goes to /proc, and looks at them in depth until UNTIL. */
void look_glance(struct look *look, const struct tree *tree);
void look_take(struct look *look, int64_t until);

/* Appends ": 4711 [sleep], 4712 [sh] and 3 more" to LINES, if SEPARATOR is ',';
 * or, indented by its depth, "4711 sleep 10 [S 2s]: sleeping" of each process,
 * with SEPARATOR between them; a '\0' also before them, behind a colon. */
void look_add(struct strbuf *lines, const struct look *look, char separator);

/* Appends the processes as a JSON array. */
void look_add_json(struct strbuf *line, const struct look *look);

/* Prints the tree of ROOT to stdout, without ROOT itself if that is a
 * supervisor. Returns the exit status; a message says if there is none. */
int look_explain(pid_t root, bool as_json);
