#ifndef WDRUN_DIAGNOSIS_H
#define WDRUN_DIAGNOSIS_H

#include "../watchdog.h"
#include "message.h"

/*
 * Appends to LINE what a user has to know of RUN's change for the reason WHY,
 * naming the processes of the tree as it was last read; nothing, if there is
 * nothing to be told. Reads /proc; told before the first signal, or there is
 * nobody left to be named.
 */
void diagnosis_add(struct line *line, const struct run *run, enum reason why);

/* Prints that RUN goes to NEXT because of WHY, for --verbose. */
void diagnosis_narrate(const struct run *run, enum state next, enum reason why);

#endif
