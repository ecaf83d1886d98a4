#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "stage.h"
#include "tracer.h"

/* A command line that is run with a fault, and what has to be true of it. */
struct scenario {
	const char *name;
	int status; /* the exit status that it has to have */
	int other;  /* if not 0, a status that it may have when a relay fails */
	const char *const *arguments; /* of wdrun */
	const char *operand;          /* the words after the options, or NULL */
	const char *const *command;   /* a test program, or NULL */
	const char *output; /* what its output has to contain, or NULL */
	enum stage_kind stage;
	enum {
		SUBJECT_RUN,
		SUBJECT_TIMEOUT, /* under the name timeout */
		SUBJECT_REFUSED, /* no run, since its lock is held */
		SUBJECT_CANCEL,
		SUBJECT_REAP,
	} subject;
	bool is_registered; /* --reap can be used when both watchers die */
	bool cleans_up;     /* removes the locks that the command leaves */
	bool lets_go;       /* lets one survivor live */
};

/*
 * How a case went. VERDICT_LEAK and those after it are findings, and each hides
 * the verdicts before it.
 */
enum verdict {
	VERDICT_NOT_MET, /* the run made no such call */
	VERDICT_TRUE,    /* the status that the scenario has without a fault */
	VERDICT_FAILED,  /* 125 */
	VERDICT_KILLED,  /* by SIGKILL, as a process of it was */
	VERDICT_TOLD,    /* something is left or lost, and a message says so */
	VERDICT_KNOWN,   /* a finding, but one of those in known.h */
	VERDICT_LEAK,    /* a process is left, or a survivor that should live is
	                    dead */
	VERDICT_FILE,    /* a file is left, or missing */
	VERDICT_LOST,    /* output is lost, or the terminal's modes are wrong */
	VERDICT_LOCK,    /* a lock is held */
	VERDICT_STATUS,  /* the status cannot be true */
	VERDICT_HANG,
	VERDICT_COUNT,
};

/* A case during its checks. */
struct attempt {
	const struct scenario *scenario;
	const struct fault *fault;
	struct trace *trace;
	struct stage stage;
	enum verdict verdict;
};

extern const struct scenario scenarios[];
extern const size_t scenario_count;

/* The options of the run in STAGE_RUN and STAGE_ORPHANS. */
extern const char *const scenario_staged_arguments[];

/*
 * Runs SCENARIO with FAULT in the working directory, which is empty before and
 * after, and checks what is left. TRACE gets what happened. Prints the
 * findings. stage_prepare() has to have been called.
 */
enum verdict scenario_try(const struct scenario *scenario,
                          const struct fault *fault, struct trace *trace);

#define CASE_NAME_MAX 128

/* Writes FAULT of SCENARIO as "timeout:supervisor:read#3:EIO". */
void fault_write(const struct scenario *scenario, const struct fault *fault,
                 char *text, size_t size);

/* Reads such a text. Returns the scenario, or NULL where there is none. */
const struct scenario *fault_read(const char *text, struct fault *fault);

/* "EIO", "KILL", "KILL SOON" or "KILL BOTH" */
const char *fault_name(const struct fault *fault);
