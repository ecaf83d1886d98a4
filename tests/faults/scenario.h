#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "tracer.h"

/* A run of wdrun, and what is true of it. */
struct scenario {
	const char *name;
	int status; /* the exit status that it has to have */
	const char *const *options;
	const char *const *arguments; /* of the command, programs/litter.c */
	bool is_registered; /* and what the command leaves is cleaned up */
};

/* How a case went. From VERDICT_LEAK on it is a finding, and one that is
 * further down hides those before it. */
enum verdict {
	VERDICT_NOT_MET, /* this run made no such call */
	VERDICT_TRUE,    /* the status that the scenario has without a fault */
	VERDICT_FAILED,  /* 125 */
	VERDICT_KILLED,  /* by SIGKILL, as somebody was */
	VERDICT_TOLD,    /* a file is left, the message says so */
	VERDICT_KNOWN,   /* a finding, but one of those in known.h */
	VERDICT_LEAK,    /* a process is left */
	VERDICT_FILE,    /* or a file */
	VERDICT_LOCK,    /* or a lock held */
	VERDICT_STATUS,  /* the status is none of those that can be true */
	VERDICT_HANG,
	VERDICT_COUNT,
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/*
 * Runs SCENARIO with FAULT in the working directory, which is empty before and
 * after, and looks at what is left. TRACE holds what happened. Prints what it
 * finds.
 */
enum verdict scenario_try(const struct scenario *scenario,
                          const struct fault *fault, struct trace *trace);

#define CASE_NAME_MAX 128

/* Writes FAULT of SCENARIO as "timeout:supervisor:read#3:EIO". */
void fault_write(const struct scenario *scenario, const struct fault *fault,
                 char *text, size_t size);

/* Reads that. Returns the scenario, or NULL where it is none. */
const struct scenario *fault_read(const char *text, struct fault *fault);

/* "EIO", "KILL", "KILL SOON" or "KILL BOTH" */
const char *fault_name(const struct fault *fault);

#endif
