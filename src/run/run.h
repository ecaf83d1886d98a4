#pragma once

/* The state of a run, in parts. Beside each part stands the room that writes
 * the part; all other rooms read it. After the fork(2), front and supervisor
 * have a copy each. What both have to know is in shared memory:
 * resources->page, the report's facts and the relays' states. */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/output.h"
#include "io/tty.h"
#include "proc/runid.h"
#include "proc/tree.h"
#include "run/timers.h"
#include "watchdog.h"

/* The two processes that watch the run, and how each learns of the other. */
struct watchers {
	pid_t front;
	pid_t supervisor;
	bool is_front;           /* the front acts as supervisor */
	bool has_older_children; /* the front, from before wdrun's exec */
	bool front_is_lost;      /* the lifeline is at its end */
	int64_t deadline;  /* until when the front waits for the supervisor */
	bool is_given_up;  /* the supervisor did not end by then: SIGKILL */
	int lifeline[2];   /* [0], the supervisor's: end-of-file means that the
	                    * front is dead; [1], the front's */
	int statuspipe[2]; /* [0], the front's; [1], the supervisor's and the
	                    * target's: see statuspipe.h */
	int signal_fd;     /* every signal to this watcher */
	int null_fd;       /* /dev/null */
};

/* COMMAND's own process. */
struct target {
	pid_t pid;             /* 0: not known */
	bool shares_group;     /* with the caller; its session too */
	bool ignores_sigchld;  /* inherited from the caller */
	uint64_t callers_mask; /* the signals blocked when the target starts */
	int64_t started;
	bool has_exited;        /* its zombie is kept until the tree is gone */
	bool exited_by_itself;  /* before wdrun began to end the run */
	struct outcome outcome; /* unknown until it has exited */
};

/* The process that started wdrun, with --die-with-parent. */
struct parent {
	pid_t pid;
	int fd; /* a pidfd, or -1 */
	bool is_lost;
};

/* Terminating signals (HUP, INT, QUIT, TERM) that have come for the run. */
struct cancel {
	int count;    /* that end the run, without echoes: forward.c */
	int signal;   /* the latest of them */
	pid_t sender; /* of the latest signal */
	int64_t at;   /* when the latest signal came */
	/* How often each signal came: [0] to the supervisor itself, and [1]
	 * forwarded by the front. SIGTERM is the largest of the signals. */
	short ways[SIGTERM + 1][2];
};

/* What was stopped by signals. */
struct jobcontrol {
	pid_t group;       /* the caller's */
	int terminal_stop; /* the signal by which a terminal has stopped the
	                    * job; 0: no terminal has */
	bool is_asked;     /* the front has forwarded a stop */
	bool target_is_stopped;
	bool front_is_stopped; /* as far as the supervisor knows */
	int wakes_left;        /* how many SIGCONTs are still to be tried */
};

/* What output and tree tell of the command. */
struct output_watch {
	/* The files of the command's stdout and stderr that survivors may hold
	 * open. */
	struct {
		unsigned type; /* st_mode, or 0 */
		unsigned long long inode;
	} files[2];
	bool is_complete;  /* the text of --until was found */
	bool is_asked;     /* the relays were asked whether all is read */
	bool is_finishing; /* the relays were told that no writer is left */
	uint64_t activity; /* of tree and output, when last sampled */
};

struct run {
	struct options options; /* cli/options.c; resources.c: its paths */
	enum state state;       /* watchdog.c */
	enum reason stop; /* the first reason to end the tree: watchdog.c; and
	                   * front.c, from the status pipe; resources.c, where
	                   * a lock cannot be had */
	struct timers timers;     /* each timer by the room that needs it */
	struct watchers watchers; /* watchdog.c before the fork; then front.c
	                           * and supervisor.c, in their own copies */
	struct target target;     /* target.c */
	struct parent parent;     /* parent.c; its loss: supervisor.c */
	struct cancel cancel;     /* forward.c */
	struct jobcontrol job;    /* jobcontrol.c */
	struct output_watch output_watch; /* output_watch.c */
	struct look *look;                /* the last one, or NULL: tell.c */
	int64_t
	    signalled_at; /* the first signal of the latest stop: watchdog.c */
	bool tree_is_empty; /* for good, as the target is dead: supervisor.c; or
	                     * as there was no target yet: watchdog.c */
	struct tree tree;   /* proc/tree.c */
	struct output output;        /* io/output.c */
	struct tty tty;              /* the terminal that the command shares */
	struct resources *resources; /* resources.h; NULL: the run has none */
	struct report_facts *report; /* report.h; NULL: none is wanted */
	struct usage usage;          /* front.c, from the status pipe */
	char id[RUNID_PATH_SIZE];    /* "WDRUN_ID=…" */
};
