#ifndef WDRUN_WATCHDOG_H
#define WDRUN_WATCHDOG_H

/*
 * The vocabulary that all rooms share: what was asked for, what a run is at
 * this moment, and why it changes.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/identity.h"
#include "src/output.h"
#include "src/proctree.h"
#include "src/runid.h"
#include "src/terminal.h"

#define STATUS_NOT_HAD     1
#define STATUS_LOCKED      75 /* EX_TEMPFAIL of sysexits.h */
#define STATUS_TIMED_OUT   124
#define STATUS_FAILED      125
#define STATUS_CANNOT_RUN  126
#define STATUS_NOT_FOUND   127
#define STATUS_SIGNAL_BASE 128

#define FILES_MAX 16 /* of --lock, and of --cleanup */

enum state {
	STATE_RUNNING,   /* the target was started */
	STATE_LINGERING, /* it exited by itself, survivors are left */
	STATE_STOPPING,  /* the tree was asked to end */
	STATE_KILLING,   /* it is made to */
	STATE_DONE,
};

/* Why a run changes its state. From this one value come message, status and
 * report. */
enum reason {
	REASON_NONE,
	REASON_TARGET_EXITED,
	REASON_TREE_EMPTY,
	REASON_TIMEOUT,
	REASON_SILENCE, /* --idle-timeout */
	REASON_UNTIL,   /* --until was found, and --until-grace is over */
	REASON_CANCELLED,
	REASON_CALLER_LOST,
	REASON_SURVIVORS_LEFT, /* --survivors=leave */
	REASON_SURVIVORS_IDLE,
	REASON_SURVIVORS_BUSY, /* until --max-after-exit was over */
	REASON_GRACE_OVER,     /* --kill-after */
	REASON_THIRD_SIGNAL,
	REASON_FRONT_LOST,
	REASON_SUPERVISOR_LOST,
	REASON_OUTPUT_STUCK, /* nobody is left, nor does a reader take the rest
	                      */
	REASON_LAST_BOUND,   /* there is something that SIGKILL does not end */
};

enum survivors {
	SURVIVORS_KILL,
	SURVIVORS_WAIT,
	SURVIVORS_LEAVE,
};

enum session {
	SESSION_AUTO,    /* the caller's, where stdin is its terminal */
	SESSION_CALLERS, /* --foreground */
	SESSION_OWN,     /* --setsid, --no-stdin */
};

/* What wdrun is to do. */
enum mode {
	MODE_RUN,
	MODE_LIST,
	MODE_REAP,
	MODE_CANCEL,
};

struct files {
	size_t count;
	const char *paths[FILES_MAX];
};

struct options {
	enum mode mode;
	int64_t timeout;
	int64_t idle_timeout;
	int64_t until_grace;
	int64_t kill_after;
	int64_t idle_after_exit;
	int64_t max_after_exit;
	int64_t lock_wait;
	int64_t heartbeat;
	int lock_exit;
	int signal;
	enum survivors survivors;
	enum session session;
	const char *until; /* or NULL */
	const char *tee;   /* or NULL */
	struct files locks;
	struct files cleanups;
	const char *name;     /* or NULL */
	const char *registry; /* or NULL */
	const char *report;   /* or NULL */
	const char *cancel;   /* the run that MODE_CANCEL means */
	bool is_for_run;      /* an option that means nothing to other modes */
	bool is_registered;
	bool as_json;
	bool idle_unless_busy;
	bool pty;
	bool preserve_status;
	bool die_with_parent;
	bool no_stdin;
	bool quiet;
	bool verbose;
	bool is_timeout; /* see timeout_personality.h */
	char **command;
};

/* How a process ended, or how wdrun is to end. */
struct outcome {
	enum { OUTCOME_UNKNOWN, OUTCOME_EXIT, OUTCOME_SIGNAL } kind;
	int value; /* the exit status, or the signal */
};

/* The moments at which something falls due, NEVER if nothing does. */
struct clocks {
	int64_t timeout;
	int64_t idle;  /* --idle-timeout */
	int64_t until; /* --until-grace */
	int64_t kill;  /* --kill-after */
	int64_t idle_after_exit;
	int64_t max_after_exit;
	int64_t sample; /* next look at what the survivors do */
	int64_t drain;  /* then undelivered output is given up */
	int64_t sweep;  /* next round of killing */
	int64_t last;   /* then what cannot be killed is given up */
	int64_t storm;  /* no newcomer puts that off any more */
	int64_t wake;   /* next look whether the front goes on */
	int64_t heartbeat;
};

#define NOTHING_DUE                                                            \
	{                                                                      \
		NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, NEVER, \
		    NEVER, NEVER, NEVER, NEVER                                 \
	}

struct run {
	struct options options;
	enum state state;
	enum reason stop; /* the first reason for which the tree is ended */
	struct clocks clocks;
	int64_t paused_at; /* a terminal stop: the clocks stand; else NEVER */

	pid_t front;
	struct identity front_identity; /* if the run is to be on record */
	pid_t supervisor;
	pid_t target;
	pid_t caller; /* what --die-with-parent watches */
	bool is_front;
	bool shares_group; /* the target is in the caller's group and session */
	bool ignores_sigchld;
	uint64_t callers_mask;
	char id[RUNID_SIZE]; /* "WDRUN_ID=…" */

	int null_fd;
	int lifeline[2];  /* the front has the write end, the supervisor */
	int testament[2]; /* the read end; of this one the other way round */
	int caller_fd;    /* a pidfd */
	int signal_fd;
	unsigned output_type; /* of stdout, if survivors may hold it */
	unsigned long long output_inode;
	int narrator_fd; /* tells how far the narrator is, or -1 */
	pid_t narrator;
	pid_t herald;    /* tells of the heartbeat */
	int64_t started; /* the command */

	bool front_is_lost;
	bool caller_is_lost;
	bool is_complete;   /* the text of --until was found */
	bool is_asked;      /* a relay, whether there was no output */
	bool is_finishing;  /* the relays know that nobody writes any more */
	bool tree_is_empty; /* and with the target gone, will stay so */
	bool target_exited;
	bool target_left;    /* it exited by itself, nothing had been stopped */
	bool target_stopped; /* seen only where it shares the terminal */
	bool front_stopped;  /* with it, so far as the supervisor knows */
	int wakes_left;      /* SIGCONTs to try */
	bool target_dumped_core;
	struct outcome target_outcome;
	int cancels_direct;    /* terminating signals to the supervisor, */
	int cancels_passed_on; /* to the front, and */
	int cancels;           /* the larger of these */
	int cancel_signal;     /* the latest of them, */
	pid_t cancel_sender;   /* who sent it, */
	int64_t cancelled_at;  /* and when */
	uint64_t activity;     /* of the tree, at the last sample */
	int64_t resumed_at;    /* the end of the last pause, or 0 */
	int64_t reaped_at;     /* all the children were looked at */
	int64_t sweep_pause;
	int restless_sweeps; /* in a row that found processes not seen before */

	struct proctree tree;
	struct terminal terminal;
	struct output output;
	struct estate *estate;       /* see settle.h; or NULL */
	struct report_facts *report; /* see report.h; or NULL */
};

/* What one wake-up brought. */
struct news {
	int64_t now;
	int signal;        /* taken from the signalfd, or 0 */
	int code;          /* its si_code */
	pid_t sender;      /* its sender, or the child that SIGCHLD is about */
	bool is_passed_on; /* by the front */
};

#endif
