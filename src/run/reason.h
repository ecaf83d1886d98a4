#pragma once

#include <stdbool.h>

#include "watchdog.h"

struct run;
struct strbuf;

/* What follows from a reason: its row in reason.c, for the state machine, the
 * exit status, the messages and the report. A new reason is a name in
 * watchdog.h, a row in reason.c, and the place that gives the reason, in
 * decide.c: a line of decide(), or a row of the clocks. */
struct reason_row {
	enum state next; /* the state that the reason leads to */
	int status;      /* the exit status, or STATUS_OF_TARGET */
	enum {
		TELLING_NOTHING, /* but for --verbose */
		TELLING_LINE,    /* on stderr */
		TELLING_TREE,    /* with what each process is blocked in */
	} telling;
	const char *code;  /* for --report: a word that stays; or NULL */
	const char *words; /* for --verbose and --report */
};

#define STATUS_OF_TARGET (-1)

/* The row of WHY. */
const struct reason_row *reason_row(enum reason why);

/* Whether WHY ends the tree. */
bool reason_is_stop(enum reason why);

/* Appends to LINE the words with which the message on RUN's change for the
 * reason WHY begins: "timed out after 30m, ". */
void reason_add_cause(struct strbuf *line, const struct run *run,
                      enum reason why);
