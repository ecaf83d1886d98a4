#pragma once

#include <stdint.h>

struct run;

/* What output and activity of the tree say of the command, and the timers that
 * go by them. Nothing ticks: a timer that is due is set again if the relays
 * have carried something since. Only while survivors are waited for is the tree
 * sampled at intervals. */

/* Opens what is needed to see the output, where an option has a need to.
 * Returns 0, or -1 after a message. */
int output_watch_prepare(struct run *run);

/* Notes which pipe, socket or terminal survivors could hold open, so that a
 * reader of the output waits. */
void output_watch_note_output(struct run *run);

/* Sets the timers of a command that was started at NOW. */
void output_watch_begin(struct run *run, int64_t now);

/* Sets the timers of survivors that are waited for from NOW on. */
void output_watch_begin_lingering(struct run *run, int64_t now);

/* Reads what the relays and the tree say at NOW, and sets the timers anew: a
 * timer that is due afterwards is a reason to stop. Sends the target SIGPIPE
 * where the reader of a pseudo-terminal's output has gone. */
void output_watch_update(struct run *run, int64_t now);
