#pragma once

/* The vocabulary of all modules. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

#define FILES_MAX     16           /* of --lock, and of --cleanup */
#define UNTIL_MAX     1024         /* bytes of the text of --until */
#define KEEP_VARIABLE "WDRUN_KEEP" /* --keep for runs within a run */

enum state {
	STATE_RUNNING,   /* the target was started */
	STATE_LINGERING, /* the target exited by itself, survivors are left */
	STATE_STOPPING,  /* the tree was asked to end */
	STATE_KILLING,   /* the tree is sent SIGKILL until it is gone */
	STATE_DONE,
};

/* Why a run changes its state: decide.c has what each reason leads to. */
enum reason {
	REASON_NONE,
	REASON_TARGET_EXITED,
	REASON_TREE_EMPTY,
	REASON_TIMEOUT,
	REASON_SILENCE, /* --idle-timeout */
	REASON_UNTIL,   /* --until was found, and --until-grace is over */
	REASON_UNTIL_FAILURE,
	REASON_CANCELLED,
	REASON_PARENT_LOST,    /* --die-with-parent */
	REASON_READER_LOST,    /* --die-with-reader */
	REASON_SURVIVORS_IDLE, /* --idle-after-exit */
	REASON_SURVIVORS_BUSY, /* --max-after-exit */
	REASON_GRACE_OVER,     /* --kill-after */
	REASON_THIRD_SIGNAL,
	REASON_FRONT_LOST,
	REASON_SUPERVISOR_LOST,
	REASON_LAST_BOUND, /* a process is left that SIGKILL does not end */
};

enum survivors {
	SURVIVORS_KILL,
	SURVIVORS_WAIT,
	SURVIVORS_LEAVE,
};

/* How a process ended, or how wdrun is to end. */
struct outcome {
	enum { OUTCOME_UNKNOWN, OUTCOME_EXIT, OUTCOME_SIGNAL } kind;
	int value; /* the exit status, or the signal */
};

struct files {
	size_t count;
	const char *paths[FILES_MAX + 1]; /* NULL behind the last */
};

/* The command line and defaults. Times are in ns, or NEVER: no bound. */
struct options {
	char **command;          /* COMMAND and its arguments, then NULL */
	int64_t timeout;         /* for the run, from the target's start */
	int64_t idle_timeout;    /* without output */
	int64_t until_grace;     /* from the text of --until to a stop */
	int64_t kill_after;      /* from a stop to SIGKILL */
	int64_t idle_after_exit; /* for survivors without progress */
	int64_t max_after_exit;  /* for survivors, from the target's exit */
	int64_t lock_wait;       /* for a lock that is held; 0: do not wait */
	int64_t heartbeat;       /* without output */
	int lock_exit;           /* exit status if a lock stays held */
	int signal;              /* first signal of a stop; 0: timeout -s 0 */
	enum survivors survivors;
	const char *keep;  /* names, separated by blanks, or NULL */
	const char *until; /* text in the output, or NULL */
	const char *until_failure;
	const char *tee;       /* file for a copy of the output, or NULL */
	const char *report;    /* file, or NULL */
	const char *name;      /* of the run on record, or NULL */
	const char *registry;  /* directory; NULL: the default directory */
	const char *explain;   /* the process or run to look at, or NULL */
	const char *cancel;    /* the run to stop, or NULL */
	struct files locks;    /* to hold */
	struct files cleanups; /* to remove, if they are COMMAND's */
	bool list;
	bool reap;
	bool as_json; /* with list or explain */
	bool idle_unless_busy;
	bool preserve_status;
	bool die_with_parent;
	bool die_with_reader;
	bool foreground;
	bool setsid; /* also set by --no-stdin without --foreground */
	bool pty;
	bool no_stdin;
	bool quiet;       /* clears verbose */
	bool verbose;     /* clears quiet */
	bool is_timeout;  /* started as timeout, which sets the rest: */
	bool passes_on;   /* a terminating signal, which then cancels nothing */
	bool hup_cancels; /* a SIGHUP that a process has sent */
	bool drops_ignored;    /* signals that the caller ignores */
	bool alarm_is_timeout; /* SIGALRM: as if --timeout were over */
	bool has_gnu_status;   /* 137 by SIGKILL; -p exits with 128 + N */
	bool leads_group;      /* where a shell runs it by "&" */
	int64_t orphans_grace; /* from the command's end in a stop to SIGKILL */
};
