#ifndef SCENARIO_H
#define SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

#include "stage.h"
#include "tracer.h"

/* What is run with a fault in it, and what is true of it. */
struct scenario {
	const char *name;
	int status; /* the exit status that it has to have */
	int other;  /* if not 0, the one it may have when a relay goes wrong */
	const char *const *arguments; /* of wdrun */
	const char *operand;          /* and what comes behind them, or NULL */
	const char *const *command;   /* a test program; NULL where there is
	                                 none */
	const char *output; /* what its output has to contain, or NULL */
	enum stage_kind stage;
	enum {
		SUBJECT_RUN,
		SUBJECT_TIMEOUT, /* by the name timeout */
		SUBJECT_REFUSED, /* a run that is none: its lock is held */
		SUBJECT_CANCEL,
		SUBJECT_REAP,
	} subject;
	bool is_registered; /* --reap can be asked, when both watchers die */
	bool cleans_up;     /* the locks that the command leaves */
	bool lets_go;       /* of one survivor */
};

/* How a case went. From VERDICT_LEAK on it is a finding, and one that is
 * further down hides those before it. */
enum verdict {
	VERDICT_NOT_MET, /* this run made no such call */
	VERDICT_TRUE,    /* the status that the scenario has without a fault */
	VERDICT_FAILED,  /* 125 */
	VERDICT_KILLED,  /* by SIGKILL, as somebody was */
	VERDICT_TOLD,    /* something is left or lost, the message says so */
	VERDICT_KNOWN,   /* a finding, but one of those in known.h */
	VERDICT_LEAK,    /* a process is left, or one that was to be let go
	                    is dead */
	VERDICT_FILE,    /* a file is left, or one is missing */
	VERDICT_LOST,    /* output is, or the terminal's modes */
	VERDICT_LOCK,    /* a lock is held */
	VERDICT_STATUS,  /* the status is none of those that can be true */
	VERDICT_HANG,
	VERDICT_COUNT,
};

/* A case while it is looked at. */
struct attempt {
	const struct scenario *scenario;
	const struct fault *fault;
	struct trace *trace;
	struct stage stage;
	enum verdict verdict;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* Of the run that STAGE_RUN and STAGE_ORPHANS have. */
extern const char *const scenario_staged_arguments[];

/*
 * Runs SCENARIO with FAULT in the working directory, which is empty before and
 * after, and looks at what is left. TRACE holds what happened. Prints what it
 * finds. This process is to have been prepared by stage_prepare().
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
