#pragma once

/*
 * Runs wdrun with one fault. ptrace(2) follows the front and what it forks,
 * until that executes another program.
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

/* The processes whose calls fail. The front is the process that was started,
 * the supervisor its first child, and the target the supervisor's first. */
enum who { FRONT, SUPERVISOR, TARGET, WHO_COUNT };

enum fault_kind {
	FAULT_NONE,
	FAULT_ERROR, /* the call fails */
	FAULT_KILL,  /* SIGKILL comes instead of the call */
	FAULT_BOTH, /* SIGKILL ends front and supervisor, instead of the call */
};

/* What happens at the call that WHO makes for the COUNTth time, from 1. */
struct fault {
	enum fault_kind kind;
	enum who who;
	long call;
	int count;
	int error;
};

struct process {
	pid_t pid;
	uint16_t counts[CALLS_MAX];
	bool is_known;   /* its parent's fork was seen; until then */
	bool is_stopped; /* it waits */
	bool is_failing; /* its call has to return an error */
	bool is_traced;
};

#define PROCESSES_MAX 32

struct trace {
	struct fault fault;
	bool is_verbose; /* each call is printed */

	struct process processes[PROCESSES_MAX];
	int process_count;
	struct process *who[WHO_COUNT]; /* or NULL: not forked yet */

	bool is_met;         /* the fault happened, */
	bool had_supervisor; /* and then a supervisor was alive */
	bool has_executed;   /* the target's program has begun */
	bool is_strange;     /* another process than the target has executed */
	bool has_ended;      /* the front has */
	int status;          /* of the front, as of wait(2) */
	pid_t outliver;      /* a process that lived when the front had ended */
};

/* Starts wdrun with WORDS; TERMINAL_FD as of execute() in trial.h. The calling
 * process is a subreaper and has SIGCHLD blocked. */
void trace_start(struct trace *trace, const char *words, int terminal_fd);

enum progress { OVER, AT_REST, TOO_LATE };

/*
 * Continues until nothing is traced; for ALL until this process has no child.
 * Or until DEADLINE; or, not for ALL, until all of wdrun has waited for a
 * moment.
 */
enum progress trace_await(struct trace *trace, bool all, int64_t deadline);

/* Prints which processes are left, and kills them. */
void trace_end(struct trace *trace);
