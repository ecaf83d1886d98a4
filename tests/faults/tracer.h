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

/*
 * The processes whose calls fail. The front is the process that was started;
 * the supervisor is the child of the front's that forked the target, which is
 * the first to execute another program.
 */
enum who { FRONT, SUPERVISOR, TARGET, WHO_COUNT };

/* "1" is the front, "1.2" the second process that the front forked, and so on.
 */
#define PATH_LENGTH 24

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
	char path[PATH_LENGTH]; /* "" until its parent's fork was seen */
	pid_t pid;
	int forks;
	uint16_t counts[CALLS_MAX];
	long call;       /* the last one */
	bool is_stopped; /* it was seen before its parent's fork was */
	bool is_failing; /* its call has to return an error */
	bool is_traced;
};

#define PROCESSES_MAX 32

struct trace {
	struct fault fault;
	char paths[WHO_COUNT][PATH_LENGTH]; /* "" where not known */
	bool is_verbose;                    /* each call is printed */
	/* Called when all of wdrun has waited for a moment. */
	void (*at_rest)(struct trace *trace);
	void *data; /* for at_rest */

	struct process processes[PROCESSES_MAX];
	int process_count;
	pid_t other;      /* a child that is not traced, or 0 */
	int other_status; /* as of wait(2), if not -1 */

	bool is_met;         /* the fault happened, */
	bool had_supervisor; /* and then a supervisor was alive */
	bool has_executed;   /* the target's program has begun */
	bool is_strange;     /* the target was not the one that PATHS says */
	bool has_ended;      /* the front has */
	int status;          /* of the front, as of wait(2) */
	int outlived;      /* processes that lived when the front had ended, */
	char outliver[32]; /* and the name of one of them */
};

struct program {
	char *const *argv;
	int terminal_fd; /* stdin and stdout; -1: /dev/null, the file "out", and
	                    a session of its own, without a terminal */
};

/*
 * Starts PROGRAM, which is wdrun. The calling process is a subreaper and has
 * SIGCHLD blocked.
 */
void trace_start(struct trace *trace, const struct program *program);

/* Starts PROGRAM as TRACE->other. */
void trace_start_other(struct trace *trace, const struct program *program);

/*
 * Continues until nothing is traced and TRACE->other has ended, or for ALL
 * until this process has no child. Returns false where that takes until
 * DEADLINE.
 */
bool trace_await(struct trace *trace, bool all, int64_t deadline);

/* Whether the target has ended, or never was. */
bool trace_target_is_dead(const struct trace *trace);

/* Prints which processes are left, and kills them. */
void trace_end(struct trace *trace);
