#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* What exists in the working directory before wdrun is run. */
enum stage_kind {
	STAGE_EMPTY,
	STAGE_TERMINAL, /* stdin and stdout are a terminal */
	STAGE_FREED, /* the lock L is held as by flock(1), and becomes free soon
	                after stage_let_go() */
	STAGE_KEPT,  /* L is held in the same way for longer */
	STAGE_HELD,  /* L is held as by shell scripts, by the PID in it */
	STAGE_RUN,   /* a run "r" with its entry in R, its command's locks C and
	                D, and its own lock L */
	STAGE_ORPHANS, /* what is left of that run when both its watchers are
	                  dead */
};

#define STAGE_ROWS      33
#define STAGE_COLUMNS   77
#define STAGE_SIZE_TEXT "33x77"

struct stage {
	enum stage_kind kind;
	pid_t holder;   /* the holder of the lock, or 0 */
	int release_fd; /* closed to make the holder release the lock, or -1 */
	pid_t front;    /* the front of the run, or 0 */
	int terminal_fd;
};

/*
 * Prepares this process for trace_start() and the rest: the leader of a session
 * with a terminal, a subreaper, with SIGCHLD blocked, which ends with its
 * parent. It must not lead a process group.
 */
void stage_prepare(void);

struct stage stage_set(enum stage_kind kind);

/* Has the holder release the lock in a moment. */
void stage_let_go(struct stage *stage);

/* Whether the holder still has the lock, as it should. */
bool stage_is_held(const struct stage *stage);

/*
 * Ends the holder, which still has to be waited for, and writes what was
 * printed on the terminal into the file "out".
 */
void stage_end(struct stage *stage);

/* Whether the terminal's modes are as they were; restores them. */
bool stage_terminal_is_restored(void);
