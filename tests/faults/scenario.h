#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tracer.h"

/* A command line that is run with a fault, and what has to be true of it. */
struct scenario {
	const char *name;
	int status; /* that it has to have, as of wait(2), */
	int other;  /* and one that it may have with an error */
	/* The words of the command line; @NAME is a test program. */
	const char *words;
	const char *output; /* what its output has to contain, or NULL */
	bool is_held;      /* its lock is held when it starts, and then freed */
	bool is_signalled; /* it gets SIGTERM when its command is ready */
	bool has_terminal; /* stdin and stdout */
	bool has_pty;      /* --pty: SIGHUP when the supervisor dies */
};

/* How a case went: the worst of it. */
enum verdict {
	VERDICT_UNMET,  /* the run made no such call */
	VERDICT_TRUE,   /* the status that the scenario has without a fault */
	VERDICT_FAILED, /* 125 */
	VERDICT_KILLED, /* the status says that a process was killed */
	VERDICT_TOLD,   /* something is left or lost, and a message says so */
	VERDICT_FOUND,  /* a finding, which was printed */
	VERDICT_COUNT,
};

#define SCENARIOS 6

extern const struct scenario scenarios[SCENARIOS];

/* What the runs of a scenario without a fault show. */
struct record {
	uint16_t few[WHO_COUNT][CALLS_MAX];   /* calls in each run, */
	uint16_t many[WHO_COUNT][CALLS_MAX];  /* or in one of them, */
	uint16_t early[WHO_COUNT][CALLS_MAX]; /* until nothing more happened */
	int said;                             /* lines of messages */
};

/*
 * Prepares this process for scenario_try(): the leader of a session with a
 * terminal, a subreaper that ends with its parent. It must not lead a process
 * group.
 */
void scenario_prepare(void);

/*
 * Runs SCENARIO without a fault a few times, and fills in RECORD. Returns
 * whether it went well.
 */
bool scenario_record(const struct scenario *scenario, struct record *record);

/*
 * Runs SCENARIO with FAULT in the working directory, which is empty before and
 * after, and checks what is left. Prints the findings.
 */
enum verdict scenario_try(const struct scenario *scenario,
                          const struct fault *fault, struct record *record,
                          bool is_verbose);

#define CASE_NAME_MAX 128

/* Writes FAULT of SCENARIO as "timeout:supervisor:read#3:EIO". */
void fault_write(const struct scenario *scenario, const struct fault *fault,
                 char text[CASE_NAME_MAX]);
