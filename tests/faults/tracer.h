#pragma once

/*
 * Runs wdrun with one fault. ptrace(2) follows the front and what it forks, as
 * long as that is wdrun: a command is let go when it is executed.
 *
 * strace(1) cannot do that: its -f follows the command too, its --inject counts
 * calls for each process, so that "the third read of the supervisor" is the
 * third read of every other process as well, and with -p it misses the first
 * calls.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls.h"
#include "gated.h"
#include "stage.h"

#define ROLES_MAX     24
#define ROLE_NAME_MAX 40

enum fault_kind {
	FAULT_NONE,
	FAULT_ERROR,     /* the call fails */
	FAULT_KILL,      /* SIGKILL comes instead of the call */
	FAULT_KILL_SOON, /* the same where the run would last for long */
	FAULT_KILL_BOTH, /* SIGKILL ends front and supervisor */
};

/*
 * What happens at the call that ROLE makes for the COUNTth time, counted from
 * 1.
 */
struct fault {
	enum fault_kind kind;
	char role[ROLE_NAME_MAX];
	long call;
	int count;
	int error;
};

#define ROLE_FRONT "front"

/* A process of wdrun's. */
struct role {
	char name[ROLE_NAME_MAX]; /* "front", "supervisor", "target",
	                             "front-helper-1"… in the order of forks,
	                             and "front-lock-1"… */
	pid_t pid;
	int forks;
	int lock_forks;
	uint16_t counts[CALLS_MAX];
	long call;       /* the last call */
	bool is_stopped; /* it was seen before its parent's fork was */
	bool is_failing; /* its call has to return an error */
	bool is_traced;
};

struct trace {
	struct fault fault;
	const char *root; /* the name of the first role; ROLE_FRONT where it
	                     forks a supervisor */
	struct stage *stage;
	bool is_verbose; /* each call is printed */
	struct role roles[ROLES_MAX];
	int role_count;
	bool is_met;               /* the fault happened */
	bool had_supervisor;       /* when the fault happened */
	bool has_ended;            /* the front has */
	int status;                /* of the front, as of wait(2) */
	uint16_t early[CALLS_MAX]; /* calls of the front until it waits, */
	bool is_waiting;           /* which it does, or did */
	int outlived; /* processes that lived when the front had ended, without
	                 the stage's holder, */
	char outliver[32]; /* and the name of one of them */
	int staged_status; /* of the stage's front, if not -1 */
	int other_status;  /* of OTHER, if not -1 */
	pid_t other;       /* another child that is waited for */
};

/*
 * Starts PROGRAM, which is wdrun, with TRACE->root and TRACE->stage set. Each
 * process that has a trace has to call stage_prepare() first.
 */
void trace_start(struct trace *trace, const struct program *program);

/* Starts PROGRAM without a trace, as TRACE->other. */
void trace_start_other(struct trace *trace, const struct program *program);

/*
 * Continues until nothing is traced and TRACE->other has ended, or for ALL
 * until this process has no child. Returns false where that takes longer than
 * until DEADLINE, in nanoseconds of CLOCK_MONOTONIC.
 */
bool trace_await(struct trace *trace, bool all, int64_t deadline);

/* Prints which processes are left, and kills them. */
void trace_end(struct trace *trace);
