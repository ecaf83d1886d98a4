#ifndef STAGE_H
#define STAGE_H

#include <stdbool.h>
#include <sys/types.h>

/* What there is before wdrun is run, in the working directory. */
enum stage_kind {
	STAGE_EMPTY,
	STAGE_TERMINAL, /* stdin and stdout are one */
	STAGE_FREED,    /* the lock L is held, as flock(1) has it, and becomes
	                   free soon after stage_let_go() */
	STAGE_KEPT,     /* it is held so for longer */
	STAGE_HELD,     /* or as shell scripts have it, by the PID in it */
	STAGE_RUN,      /* a run "r", with its entry in R, its command's locks
	                   C and D, and its own, L */
	STAGE_ORPHANS,  /* what is left of it when both its watchers are dead */
};

#define STAGE_ROWS      33
#define STAGE_COLUMNS   77
#define STAGE_SIZE_TEXT "33x77"

struct stage {
	enum stage_kind kind;
	pid_t holder;   /* of the lock, or 0 */
	int release_fd; /* closed when it is to let go, or -1 */
	pid_t front;    /* of the run, or 0 */
	int terminal_fd;
};

/* Makes this process what trace_start() and the others want: the leader of a
 * session with a terminal, a subreaper, with SIGCHLD blocked; and it ends with
 * its parent. It is not to lead a process group. */
void stage_prepare(void);

struct stage stage_set(enum stage_kind kind);

/* Has the holder of the lock let go of it in a moment. */
void stage_let_go(struct stage *stage);

/* Whether the lock still is the holder's, as it has to be. */
bool stage_is_held(const struct stage *stage);

/* Ends the holder, which still has to be waited for, and puts what was printed
 * on the terminal into the file "out". */
void stage_end(struct stage *stage);

/* Whether the terminal's modes are as they were; and makes them so. */
bool stage_terminal_is_restored(void);

#endif
