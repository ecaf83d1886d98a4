#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "inspect/treeview.h"
#include "watchdog.h"

struct run;

/* Appends to LINE the message for a change of RUN by the reason WHY, if the
 * change is told: with the processes of the tree as it was last read, of which
 * DETAIL is read. With options.is_timeout, the words are those of timeout(1). */
void stop_message_add(struct strbuf *line, const struct run *run,
                      enum reason why, enum detail detail);

/* Whether RUN's change for the reason WHY has no message, as in timeout(1). */
bool stop_message_is_none(const struct run *run, enum reason why);

/* Whether the message in full names no processes, since the lines of the tree
 * follow: inspect/treeview.h. */
bool stop_message_has_tree(const struct run *run, enum reason why);

/* For --verbose: prints that RUN changes from the state FROM to NEXT, and WHY.
 */
void stop_message_print_change(const struct run *run, enum state from,
                               enum state next, enum reason why);
