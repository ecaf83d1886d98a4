#ifndef TRACER_H
#define TRACER_H

/*
 * Runs wdrun with one fault in it. ptrace(2) follows the front, and what it
 * forks, as far as that is wdrun: the command is let go when it is executed.
 *
 * strace(1) cannot do that: its -f follows the command too, and the faults of
 * its --inject come to each process by a count of its own, so that "the third
 * read of the supervisor" is the third read of all the others as well; and
 * with -p it is there when the first calls are over.
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
	FAULT_KILL,      /* SIGKILL comes instead of it */
	FAULT_KILL_SOON, /* while the run would go on for long */
	FAULT_KILL_BOTH, /* SIGKILL comes to front and supervisor */
};

/* What is to happen at the call that ROLE makes for the COUNTth time, counted
 * from 1. */
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
	long call;       /* the last one */
	long before;     /* and the last one that forks nothing */
	bool is_stopped; /* it was there before its parent told of it */
	bool is_failing; /* its call is to return an error */
	bool is_traced;
};

struct trace {
	struct fault fault;
	const char *root; /* the name of the first role: ROLE_FRONT, if a
	                     supervisor is to come of it */
	struct stage *stage;
	bool is_verbose; /* each call is printed */
	struct role roles[ROLES_MAX];
	int role_count;
	bool is_met;               /* the fault happened */
	bool had_supervisor;       /* at that moment */
	bool has_ended;            /* the front */
	int status;                /* its, as of wait(2) */
	uint16_t early[CALLS_MAX]; /* its calls until it waits, */
	bool is_waiting;           /* which it does, or did */
	int outlived;      /* processes that lived on when it had ended, but
	                      for the stage's holder, */
	char outliver[32]; /* and one of these */
	int staged_status; /* of the stage's front, if not -1 */
	int other_status;  /* of OTHER, if not -1 */
	pid_t other;       /* another child, which is waited for */
};

/* Starts PROGRAM, which is wdrun, once TRACE->root and TRACE->stage are set.
 * Each process that has one of these is to be prepared by stage_prepare(). */
void trace_start(struct trace *trace, const struct program *program);

/* Starts it without a trace, as TRACE->other. */
void trace_start_other(struct trace *trace, const struct program *program);

/* Goes on until nothing is traced any more and TRACE->other has ended, or where
 * ALL, until this process has no child left. Returns false where that is not so
 * before DEADLINE, in nanoseconds of CLOCK_MONOTONIC. */
bool trace_await(struct trace *trace, bool all, int64_t deadline);

/* Prints who is left, and kills it. */
void trace_end(struct trace *trace);

#endif
