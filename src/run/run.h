#pragma once

/*
 * The state of a run, in parts. Beside each part stands the room that writes
 * the part; all other rooms read it. After the fork(2), front and supervisor
 * have a copy each: what one has to tell the other is an order or news, and
 * what only has to be known at the end is in the facts, which they share.
 */

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "inspect/look.h"
#include "io/output.h"
#include "io/terminal.h"
#include "proc/procfs.h"
#include "proc/tree.h"
#include "watchdog.h"

/*
 * The clocks: when a run has something to do without an event. A table in
 * decide.c says in which states each of them counts, and for which reason it
 * then changes the state. Of those that are due, the first gives the reason.
 */
enum clock {
	CLOCK_TIMEOUT,         /* --timeout */
	CLOCK_UNTIL,           /* --until-grace, once the text was found */
	CLOCK_MAX_AFTER_EXIT,  /* --max-after-exit */
	CLOCK_IDLE_AFTER_EXIT, /* --idle-after-exit */
	CLOCK_KILL,            /* --kill-after: SIGKILL follows */
	CLOCK_READY,           /* shortly before --timeout: takes priority */
	CLOCK_SAMPLE,          /* looks whether the survivors do something */
	CLOCK_REAP,            /* looks at the children again */
	CLOCK_HEARTBEAT,       /* --heartbeat */
	CLOCK_COUNT,
};

/* What the front has the supervisor do: a write(2) each into one pipe. Its
 * end-of-file says that the front is dead. */
struct order {
	enum {
		ORDER_SIGNAL, /* SIGNAL has come to the front */
		ORDER_SILENT, /* no output for --idle-timeout */
		ORDER_FOUND,  /* the text of --until was written */
	} kind;
	int signal;
	bool from_terminal; /* the terminal has sent SIGNAL to the job */
};

/*
 * What the supervisor has the front know. The front reads it when a SIGCHLD
 * comes, which the supervisor sends along where the news is urgent. Its exit
 * says "done"; killed without an outcome, it says "take over", and killed after
 * an outcome, "finish the teardown".
 */
enum news_kind {
	NEWS_TARGET,    /* VALUE: its PID (urgent if silence counts from now) */
	NEWS_STOPPED,   /* by the signal VALUE: stop too (urgent) */
	NEWS_CONTINUED, /* do not stop; SIGCONT follows */
	NEWS_STOP,      /* a stop began, for the reason VALUE; NONE: of
	                 * survivors (urgent) */
	NEWS_OUTCOME,   /* it is in the facts (urgent if files are to be
	                 * removed) */
};

struct news {
	enum news_kind kind;
	int value;
};

#define INTERPRETER_SIZE 80

/* Why COMMAND could not be executed: from the target. */
struct exec_failure {
	int why; /* errno of execve(2), say; 0: it was executed */
	char interpreter[INTERPRETER_SIZE]; /* that is missing; or "" */
};

#define LEFT_MAX 1000

/* What is told at the end, in the memory that all of wdrun's processes share:
 * either watcher may have to tell it. Never an event: nobody waits for what is
 * written here. */
struct facts {
	char id[RUNID_PATH_SIZE]; /* "WDRUN_ID=…" */
	int64_t started_at;       /* wdrun, since the epoch */
	_Atomic int64_t started;  /* the target; 0: not yet */
	pid_t target;
	struct exec_failure exec_failure;
	bool is_locked_out; /* a lock is held by another process */
	uint64_t stopped;   /* processes that got the first signal of a stop */
	uint64_t killed;    /* processes that got SIGKILL */
	struct output_facts output;
	struct terminal_facts terminal;
	char outputs[LOOK_OUTPUTS][LOOK_LINK_SIZE]; /* for the look */

	/* The run is over: */
	int64_t ended; /* 0: not yet */
	enum reason stop;
	struct outcome outcome; /* of wdrun; unknown: not yet */
	struct outcome target_outcome;
	bool target_left; /* the target exited by itself */
	bool tree_is_empty;
	bool nobody_is_left;      /* besides survivors that are let go */
	int64_t cpu;              /* of the tree, in nanoseconds */
	int64_t peak_memory;      /* of its largest process, in KiB */
	_Atomic bool is_released; /* resources_release() is done */

	/* Last: pages that few runs touch cost the others nothing. */
	size_t left_count;
	pid_t left[LEFT_MAX];   /* that could not be killed */
	struct look look;       /* the last one */
	struct look first_look; /* that of the first stop, for the report */
};

/* The two processes that watch the run, and what they talk by. */
struct watchers {
	pid_t front;
	pid_t supervisor;
	bool is_front;           /* the front acts as supervisor */
	bool has_older_children; /* the front, from before wdrun's exec */
	bool front_is_lost;      /* the orders are at their end */
	bool is_given_up;        /* the supervisor, which was late: front.c */
	int orders[2];           /* [0], the supervisor's; [1], the front's */
	int news[2];             /* [0], the front's; [1], the supervisor's */
	int signal_fd;           /* signals to this watcher, or -1 */
	int null_fd;             /* /dev/null */
};

/* COMMAND's own process. */
struct target {
	pid_t pid;              /* 0: not known */
	bool shares_group;      /* with the caller; its session too */
	bool ignores_sigchld;   /* inherited from the caller */
	uint64_t callers_mask;  /* the signals blocked when the target starts */
	uint64_t early_signals; /* that came before there was a target */
	bool has_exited;        /* its zombie is kept until the tree is gone */
	bool exited_by_itself;  /* before wdrun began to end the run */
	bool dumped_core;
	struct outcome outcome; /* unknown until it has exited */
};

/* The process that started wdrun, with --die-with-parent. */
struct parent {
	pid_t pid;
	int fd; /* a pidfd, or -1 */
	bool is_lost;
};

/* Terminating signals (HUP, INT, QUIT, TERM) that have come for the run. The
 * front counts for itself those that are certainly for the run. */
struct cancel {
	int count;
	int signal; /* the latest of them */
};

/* What was stopped by signals: supervisor.c. */
struct job {
	pid_t group;       /* the caller's */
	int terminal_stop; /* the signal by which a terminal has stopped the
	                    * job; 0: no terminal has */
	bool is_asked;     /* the front has passed on a stop */
	bool target_is_stopped;
	bool front_is_stopped; /* the last news of it are NEWS_STOPPED */
};

struct run {
	struct options options;   /* cli/options.c */
	enum state state;         /* watchdog.c */
	enum reason stop;         /* the first reason to end the tree:
	                           * watchdog.c; front.c, from the news */
	int64_t due[CLOCK_COUNT]; /* duration_now(), or NEVER */
	int64_t paused;    /* how long the front was stopped, in all: front.c */
	int64_t paused_at; /* when a terminal stopped the run, else NEVER */
	struct watchers watchers; /* watchdog.c before the fork; then front.c
	                           * and supervisor.c, in their own copies */
	struct target target;     /* target.c; its end: supervisor.c */
	struct parent parent;     /* watchdog.c; its loss: supervisor.c */
	struct cancel cancel;     /* supervisor.c */
	struct job job;           /* supervisor.c */
	struct tree tree;         /* proc/tree.c */
	bool tree_is_empty;       /* not yet begun, or for good: target.c, then
	                           * supervisor.c */
	bool is_silent;           /* ORDER_SILENT: supervisor.c */
	bool is_complete;         /* ORDER_FOUND */
	uint64_t activity;        /* of tree and output, when last sampled */
	int64_t signalled_at;     /* the last first signal of a stop */
	struct output output;
	struct terminal terminal;
	struct resources *resources; /* resources.h; NULL: the run has none */
	struct report *report;       /* report.h; NULL: none is wanted */
	struct facts *facts;         /* shared memory */
};
