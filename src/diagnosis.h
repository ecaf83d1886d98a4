#ifndef WDRUN_DIAGNOSIS_H
#define WDRUN_DIAGNOSIS_H

#include <stdbool.h>

#include "../watchdog.h"
#include "message.h"

enum diagnosis {
	DIAGNOSIS_IN_SHORT, /* what can be read without waiting for anybody */
	DIAGNOSIS_IN_FULL,
};

/*
 * Appends to LINE what a user has to know of RUN's change for the reason WHY,
 * naming the processes of the tree as it was last read; nothing, if there is
 * nothing to be told. To be told before the first signal, or there is nobody
 * left to be named. In full, it reads what may never answer: see narrator.h.
 */
void diagnosis_add(struct line *line, const struct run *run, enum reason why,
                   enum diagnosis depth);

/* Whether that, told in full, goes without the names, as the tree is to be told
 * line by line: see family.h. */
bool diagnosis_has_tree(const struct run *run, enum reason why);

/* Whether there is anything to be told of a change for the reason WHY. */
bool diagnosis_is_due(enum reason why);

/* WHY in words. */
const char *diagnosis_reason(enum reason why);

/* Prints that RUN goes to NEXT because of WHY, for --verbose. */
void diagnosis_narrate(const struct run *run, enum state next, enum reason why);

#endif
