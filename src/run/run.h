#pragma once

/* Whose state it is: each watcher has a struct run of its own, and both share
 * the facts. The rest is in struct front or struct supervisor: a function takes
 * that of its process as SELF. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/duration.h"
#include "base/message.h"
#include "inspect/look.h"
#include "io/output.h"
#include "lock/lock.h"
#include "proc/activity.h"
#include "proc/procfs.h"
#include "proc/tree.h"
#include "registry/registry.h"
#include "watchdog.h"

#define LOOK_BOUND      (300 * MILLISECOND) /* of a look, in the supervisor */
#define FRONT_STOP_STEP 256 /* facts.job_stop: number * this + signal */
#define READER_PATIENCE (2 * SECOND) /* for a reader that takes nothing */
#define UNTIL_GRACES    10
#define CANCELS_MAX     3 /* terminating signals: then SIGKILL, or no drain */

/* When a run has something to do without an event. decide.c says in which
 * states each clock counts. Of several that are due, the first here counts. */
enum clock {
	/* --die-with-reader, a second later: whoever closes the output often
	 * closes the input, too, and waits until the command has ended. */
	CLOCK_READER,
	CLOCK_TIMEOUT,   /* --timeout */
	CLOCK_UNTIL,     /* --until-grace, since TEXT and the last output */
	CLOCK_UNTIL_MAX, /* UNTIL_GRACES of them since TEXT */
	CLOCK_MAX_AFTER_EXIT, /* --max-after-exit */
	CLOCK_IDLE,           /* --idle-timeout, --idle-after-exit */
	CLOCK_KILL,           /* --kill-after: SIGKILL follows */
	CLOCK_SAMPLE,         /* looks whether the tree does something */
	CLOCK_ORPHANS,        /* looks in a stop whom the signal has missed */
	CLOCK_HEARTBEAT,      /* --heartbeat */
	CLOCK_NICE,           /* tries again to pass the nice value on */
	CLOCK_COUNT,
};

/* What the supervisor does. Each change is a sign that it lives. */
enum phase {
	PHASE_RUN,
	PHASE_STOP,
	PHASE_LOOK, /* in a stop, before the first signal */
	PHASE_END,  /* the outcome is in the facts */
};

/* COMMAND's own process. */
struct target {
	pid_t pid;              /* 0: not forked yet */
	struct outcome outcome; /* unknown until it has exited */
	bool exited_by_itself;  /* before a cancel, or a stop */
	unsigned ended_ms;      /* a duration_stamp(); 0: not yet */
	bool dumped_core;
	/* Set before it is reaped: from then on PID may be another's. */
	atomic_int has_exited;
};

/* The sender of the first signal that cancelled the run; before that, of the
 * last terminating signal. */
struct sender {
	int signal;   /* 0: none came */
	pid_t pid;    /* 0: of another PID namespace, or the kernel */
	bool is_told; /* in the message: no key, and not from the caller */
	bool is_of_run;
	bool is_outer; /* the supervisor of a run around this one */
	bool is_systemd;
	char command[240]; /* "": it is gone */
};

/*
 * What the watchers tell each other, in shared memory: a SIGCHLD makes the
 * other look here. The supervisor's end says "take over", or after PHASE_END
 * "finish the teardown".
 *
 * fact                         written by        read by     told by
 * id, started_at               prepare()         both        (before the fork)
 * target                       target, (1)       both        SIGCHLD: its end
 * exec_error, interpreter      whoever fails     front       the end of the run
 * refusal, is_locked_out       whoever fails     front       the end of the run
 * orders                       both              supervisor  SIGCHLD
 * cancels, cancelled_by        both              both        with the order
 * counted_ms                   both              both        with the order
 * undone_stop                  front             supervisor  with the order
 * front_stops                  front             supervisor  (polled)
 * signalled_by                 both              both        (polled)
 * output                       both: io/output.h both        SIGCHLD
 * job_stop                     supervisor (2)    front       SIGCHLD, SIGCONT
 * phase, look, first_look      (1)               front       SIGCHLD: the phase
 * reason, signalled, killed    (1), prepare()    both        with the phase
 * ended, cpu, memory, outcome  (1), front        front       PHASE_END
 * tree_is_empty                both, target      both        PHASE_END
 * is_released, messages        both              both        (polled)
 * (1) the supervisor, or a front that has taken over
 * (2) and the front, in the drain, when the supervisor is dead
 */
struct facts {
	struct message_facts messages; /* first: its text fills whole pages */
	char id[RUNID_SIZE];
	char id_variable[RUNID_PATH_SIZE]; /* "WDRUN_ID=…" */
	struct target target;              /* target.c; its end: supervisor.c */
	enum reason reason;                /* the first to end the tree */
	/* The number of a stop * FRONT_STOP_STEP + the signal by which the
	 * front is to stop; 0: it is to go on. */
	atomic_uint job_stop;
	atomic_uint undone_stop; /* the one that SIGCONT undoes; 0: any */
	atomic_int front_stops;  /* it is stopped, or about to be: front.c */
	atomic_int phase;        /* an enum phase */
	bool tree_is_empty;      /* before the target's fork, too */
	int64_t started_at;      /* wdrun, since the epoch */
	int64_t ended;           /* the run */
	const char *refusal; /* why COMMAND was not started, as told; or NULL */
	int exec_error; /* why COMMAND was not executed: errno; 0: it was */
	char interpreter[100];  /* that is missing; or "" */
	struct outcome outcome; /* of wdrun */
	bool is_locked_out;     /* a lock is held by another process */
	atomic_int is_released; /* resources_release() is done, or in vain */
	uint64_t signalled; /* processes that there were when a stop began */
	uint64_t killed;    /* processes that got SIGKILL */
	int64_t cpu;        /* of the tree: wait_usage() */
	long memory;
	struct output_facts output;
	atomic_uint orders[65]; /* of each signal; 0, or ORDER_GIVEN | … */
	atomic_uint cancels;    /* terminating signals for the run */
	struct sender cancelled_by; /* orders.c */
	atomic_uint counted_ms[65]; /* stamps of signals; 0: not counted */
	atomic_int signalled_by; /* the PID that sends a stop's first signal */

	/* Last: pages that few runs touch cost the others nothing. */
	struct look look;       /* the last one */
	struct look first_look; /* that of the first stop, for the report */
};

/* Where --report goes: to STREAM_FD; or, if that is -1, it replaces FILE. */
struct report {
	const char *path;      /* for messages */
	const char *directory; /* the caller's, to be reported; or NULL */
	int stream_fd;         /* a descriptor of the caller's, or a FIFO */
	int directory_fd;
	const char *file; /* in that directory */
};

/* What both watchers have of the run that they watch. */
struct run {
	const struct options *options;
	char *words; /* all of argv, as /proc/PID/cmdline shows */
	size_t words_size;
	pid_t front;  /* the supervisor's parent, until the front is dead */
	pid_t caller; /* the front's parent at the start; 0: elsewhere */
	pid_t callers_group;
	bool shares_group;     /* target: in the caller's group and session */
	bool ignores_sigchld;  /* as the caller did, the target does */
	uint64_t callers_mask; /* the signals blocked when the target starts */
	mode_t callers_umask;
	pid_t supervisor;
	bool had_children;   /* the front has some from before wdrun's exec */
	bool has_taken_over; /* this front ends the run of a dead supervisor */
	int signal_fd;       /* to be polled beside other descriptors */
	int parent_fd; /* of --die-with-parent: a pidfd; -1: none, or dead */
	int reader_fd; /* of --die-with-reader: stdout; -1: none, or gone */
	struct output output;
	struct record record;
	struct report report;
	struct facts *facts;                /* shared memory */
	struct target *target;              /* in the facts */
	struct lock locks[FILES_MAX];       /* of options->locks */
	struct cleanup cleanups[FILES_MAX]; /* of options->cleanups */
};

/* What the supervisor knows, or a front that has taken over. */
struct supervisor {
	struct run *run;
	enum state state;         /* watchdog.c */
	int64_t due[CLOCK_COUNT]; /* duration_now(), or NEVER */
	int64_t paused_at; /* when a terminal stopped the run, else NEVER */
	struct tree tree;
	bool front_is_dead;

	int reload;         /* the last terminating one for the target alone */
	int cancel_signal;  /* the last terminating signal */
	int target_stop;    /* the signal that has stopped the target, or 0 */
	int stop_order;     /* the front's stop since SIGCONT; SIGTSTP wins */
	int group_stop;     /* for its group, if the target stops by it; or 0 */
	unsigned job_stops; /* so many numbers of facts.job_stop were given */
	pid_t senders[65];  /* of each signal to this process, the last */
	unsigned last_of_outer_ms[65]; /* COUNTED_MS of an outer run's last */
	int64_t next_look;             /* for orphans, at the earliest */
	struct activity activity;      /* since the last progress */
	uint64_t relayed;              /* output.relayed at the last sample */
};

/* How late the supervisor is, and what the front has done about it: front.c. */
enum lateness {
	LATE_NOT,
	LATE_ONCE, /* its deadline has passed: it has more time */
	LATE_KILLED,
	LATE_GIVEN_UP,
};

/* What the front knows of the supervisor, and of its own stops. */
struct front {
	struct run *run;
	bool supervisor_is_dead; /* and reaped */
	int phase;               /* of the facts, when last looked at */
	unsigned job_stop;       /* as last obeyed */
	int64_t deadline;        /* for its next sign of life, or NEVER */
	enum lateness lateness;
	int64_t suspended_for; /* the job, in all: run_time() leaves it out */
};

/* --- decide.c -------------------------------------------------------------
 *
 * decide() and next_due() ask and send nothing: all facts are in the arguments,
 * so that a table can test them (tests/unit/decide.c). */

enum telling {
	TELL_NOTHING, /* but for --verbose */
	TELL_LINE,    /* on stderr */
	TELL_NAMES,   /* with PID and name of each process */
	TELL_TREE,    /* with what each process is blocked in */
};

/* What follows from a reason. HACKING.md says how to add one. */
struct reason_row {
	enum state next; /* the state that the reason leads to */
	int status; /* the exit status, or STATUS_OF_TARGET; 124: but for -p */
	enum telling telling;
	const char *code;        /* for --report: a word that stays; or NULL */
	const char *words;       /* for messages and --report; or NULL */
	const char *preposition; /* for messages: " after ", an option's time */
	size_t time; /* where that is in struct options; 0: no time */
};

extern const struct reason_row reasons[];

/* The reason for which the run should change its state at NOW, or REASON_NONE;
 * and when there is something to do without an event, or NEVER. */
enum reason decide(const struct supervisor *self, int64_t now);
int64_t next_due(const struct supervisor *self);

/* Ends a pause at NOW: puts all clocks off by its length. */
void clocks_resume(struct supervisor *self, int64_t now);

/* Sets at NOW, in a stop, when SIGKILL follows. */
void clocks_bound_stop(struct supervisor *self, int64_t now);

/* Whether survivors live on, by --survivors=leave. */
bool survivors_are_free(const struct run *run);

/* Whether the tree is empty, or its survivors live on. */
bool nobody_is_awaited(const struct run *run);

/* OUTCOME as $? in a shell. */
int outcome_status(const struct outcome *outcome);

/* How wdrun is to end, RUN being done. */
struct outcome run_outcome(const struct run *run);

/* --- orders.c -------------------------------------------------------------
 *
 * A signal that comes to a watcher is dropped there; or is an order, which the
 * supervisor obeys. As in the kernel, equal signals merge while they wait. */

enum {
	ORDER_GIVEN = 1,
	ORDER_FOR_JOB = 2,   /* the whole job has had it, as at Ctrl-C */
	ORDER_FOR_GROUP = 4, /* the target's; else for the target alone */
};

/* Adds SIGNAL to the orders. The caller wakes the supervisor. */
void order_give(struct facts *facts, int signal, bool is_for_job,
                bool is_for_group);

/* Whether a terminating SIGNAL that a process has sent is for the target alone,
 * and cancels the run only by killing it: SIGHUP means "read your
 * configuration", unless timeout(1) has -k; and of a signal that the caller
 * ignores, only the target knows the meaning. After a cancel, none is. */
bool order_is_reload(const struct run *run, int signal);

/* In the front: gives the order, if the signal of INFO is one; then true. */
bool order_pass_on(struct run *run, const siginfo_t *info);

/* Takes, and orders, the keys that came to this process before the target was
 * forked: if they were taken later, the target would seem to have had them. */
void order_take_early(struct run *run);

/* In the supervisor: counts the signal of INFO, to this process, if it cancels
 * the run; returns that. HUP, INT, QUIT and TERM are as in the front; from the
 * watcher of an outer run any signal cancels: that run is stopping. */
bool order_take_own_cancel(struct supervisor *self, const siginfo_t *info);

/* Whether systemd(1), which cancels the run, has sent the signal to the
 * supervisor, too: then it signals each process of the unit, and the tree has
 * the signal. Waits for that for some 50 ms. */
bool order_came_to_all(struct supervisor *self);

/* Whether the target is alive, and in the process group of the caller's job. */
bool target_is_in_job(const struct run *run);

/* Whether the target has exited, and may be reaped: its PID may be another's.
 * Not without /proc: then only its group is known, which its zombie keeps. */
bool target_may_be_reaped(const struct run *run);

/* --- front.c -------------------------------------------------------------- */

/* Carries output and keys, passes signals on, and stops with the job until the
 * supervisor is dead; kills the supervisor if that is late. Returns true if
 * there is an outcome, or if SIGKILL does not end the supervisor; false if its
 * orphans are now children of this process. */
bool front_watch(struct front *self);

/* Puts terminal and screen back after a stop, prints what was held until then,
 * tells, and reports. Also in a supervisor that has lost its front. */
void front_tell_end(struct run *run);

/* Ends the front, when the run is over: releases what the supervisor has not,
 * drains the output of the dead, tells, and exits as the outcome says. */
_Noreturn void front_end(struct front *self);

/* --- supervisor.c --------------------------------------------------------- */

/* Tells the front, if there is one, what this process does. */
void supervisor_tell_phase(struct supervisor *self, enum phase phase);

/* Makes this process the root of its tree, and the leader of a session. Starts
 * the target. Returns 0, or -1 with errno. */
int supervisor_start(struct supervisor *self);

/* Sleeps until UNTIL, or until something happens. Takes orders, reaps, follows
 * the target, and looks what the tree does. Returns the time. */
int64_t supervisor_run_once(struct supervisor *self, int64_t until);

/* Reaps the dead, and notes the death of the target. */
void supervisor_reap(struct supervisor *self, int64_t now);

/* Decides who is kept: at the target's end, among survivors, before a stop. */
void supervisor_mark_kept(struct supervisor *self);

/* --- target.c ------------------------------------------------------------- */

/* Blocks all signals, and resets SIGCHLD and umask, until the target's exec.
 * Decides whether the target shares the caller's job; notes terminal modes. */
void target_prepare(struct run *run);

/* In the child of vfork(2): makes it the target, which executes COMMAND. A
 * failure shows in its status (125 to 127) and in facts.exec_error. */
_Noreturn void target_become(struct run *run);

/* Prints why COMMAND was not executed, also in the words of timeout(1). */
void target_tell_failure(const struct run *run);

/* --- resources.c: locks, files to clean up, registry entry ---------------- */

/* Opens the directories of locks, and ends runs whose watchers are dead.
 * Returns 0, or -1 after a message. Comes before signals are blocked: so one
 * ends this process where a file system hangs. */
int resources_prepare(struct run *run);

/* Puts the run on record, takes the locks, and notes what there is at the
 * places of --cleanup. Returns 0; or -1, the outcome being set. */
int resources_acquire(struct run *run);

/* Removes the files of --cleanup and the record, and releases the locks. May
 * hang in a file system. Each step may be done twice, as in a take-over. */
void resources_release(struct run *run);

/* --- report.c ------------------------------------------------------------- */

/* Looks up PATH, or a descriptor ("/dev/fd/9"). Returns -1 after a message. */
int report_open(struct report *report, const char *path);

/* Writes the report, if one is wanted; or prints why not. May hang, too. */
void report_write(const struct run *run);

/* --- tell.c --------------------------------------------------------------- */

/* If the change for the reason WHY is told, or reported, with the processes,
 * looks at the tree, for LOOK_BOUND at most. Returns how many there are, or 0.
 * The first look goes to the report, too. */
size_t tell_look(struct supervisor *self, enum reason why);

/* Tells the change for the reason WHY, if that is told, with the last look and
 * COUNT, the processes signalled; else, with --verbose, the reason alone. */
void tell_change(const struct supervisor *self, enum reason why, size_t count);

/* Tells that a silent command is running, if that is due at NOW. */
void tell_heartbeat(struct supervisor *self, int64_t now);

/* For --verbose, or as timeout(1): that the members of the tree are kept, that
 * SIGNAL is sent, how the run ended. */
void tell_kept(const struct supervisor *self);
void tell_signal(const struct run *run, int signal);
void tell_end(const struct run *run);
