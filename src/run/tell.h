#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/duration.h"
#include "watchdog.h"

struct facts;
struct run;

/* How long the first signal of a stop may wait for the look. */
#define LOOK_BUDGET (50 * MILLISECOND)

/* Whether the change of RUN for the reason WHY is told, or reported, with what
 * each process of the tree is blocked in. */
bool tell_has_look(const struct run *run, enum reason why);

/* Reads the tree, and looks at its processes until the time is UNTIL, at half
 * of which the list has to be read. Returns whether there was time to look.
 * The first look goes to the report, too. */
bool tell_look(struct run *run, int64_t until);

/* Prints the message that RUN has changed from FROM for the reason WHY, if that
 * is told, with the processes of the last look. COUNT is the number of
 * processes that are signalled. */
void tell_change(const struct run *run, enum state from, enum reason why,
                 size_t count);

/* Prints for "timeout -v" that SIGNAL is sent. */
void tell_signal(const struct run *run, int signal);

/* Notes in FACTS what the run has used, once all its children are reaped. */
void tell_measure(struct facts *facts);

/* For --verbose: prints that the run is over, with OUTCOME. */
void tell_end(const struct run *run, struct outcome outcome);

/* If a heartbeat is due at NOW: prints a line that tells that a silent command
 * is still running. */
void tell_heartbeat(struct run *run, int64_t now);
