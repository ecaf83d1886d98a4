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
#include "proc/proctree.h"
#include "proc/runid.h"
#include "run/summary.h"
#include "run/timers.h"
#include "watchdog.h"

/* The two processes that watch the run, and how each learns of the other. */
struct watchers {
	pid_t front;
	pid_t supervisor;
	bool is_front;              /* the front acts as supervisor */
	bool front_is_lost;         /* the lifeline is at its end */
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
	bool has_exited;       /* its zombie is kept until the tree is gone */
	bool exited_by_itself; /* before wdrun began to end the run */
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

/* Rounds of SIGKILL. */
struct sweep {
	int64_t pause;     /* until the next round */
	int restless;      /* rounds in a row that found new processes */
	int64_t reaped_at; /* when all children were last looked at */
	pid_t traced;      /* a zombie that cannot be reaped */
	pid_t tracer;      /* the process that traces the zombie */
};

/* What output and tree tell of the command. */
struct output_watch {
	unsigned
	    type; /* st_mode of the output, if survivors may hold it open */
	unsigned long long inode;
	bool is_complete;  /* the text of --until was found */
	bool is_asked;     /* the relays were asked whether all is read */
	bool is_finishing; /* the relays were told that no writer is left */
	uint64_t activity; /* of tree and output, when last sampled */
};

#define READERS_MAX 4 /* as many as can hang in LOOK_BUDGET */

/* The helpers that tell of a stop: announce.h. */
struct announcer {
	pid_t printer;
	pid_t readers[READERS_MAX];    /* sent SIGKILL, and not seen dead yet */
	struct announcement *prepared; /* for --timeout, or NULL */
	int64_t prepared_at;
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
	struct sweep sweep;       /* supervisor.c */
	struct output_watch output_watch; /* output_watch.c */
	struct announcer announcer;       /* announce.c */
	pid_t heartbeat; /* the helper that prints a heartbeat: heartbeat.c */
	bool tree_is_empty; /* for good, as the target is dead: supervisor.c; or
	                     * as there was no target yet: watchdog.c */
	struct proctree tree;        /* proctree.c */
	struct output output;        /* io/output.c */
	struct tty tty;              /* the terminal that the command shares */
	struct resources *resources; /* resources.h; NULL: the run has none */
	struct report_facts *report; /* report.h; NULL: none is wanted */
	struct usage usage;          /* front.c, from the status pipe */
	char id[RUNID_PATH_SIZE];    /* "WDRUN_ID=…" */
};
