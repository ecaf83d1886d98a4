#pragma once

#include <stdint.h>

struct run;

/* What the output and the activity of the tree tell of the command, and the
 * timers that depend on them. There is no periodic timer: a timer that is due
 * is set again if the relays have carried something since. Only while survivors
 * are waited for is the tree sampled at intervals. */

/* Sets up the relays, if an option needs to see the output. Returns 0, or -1
 * after a message. */
int output_watch_prepare(struct run *run);

/* Notes the pipe, socket or terminal of the output: a survivor that holds it
 * open keeps a reader of the output waiting. */
void output_watch_note_output(struct run *run);

/* Sets the timers of a command started at NOW. */
void output_watch_begin(struct run *run, int64_t now);

/* Sets the timers of survivors, which are waited for from NOW on. */
void output_watch_begin_lingering(struct run *run, int64_t now);

/* Reads what the relays and the tree tell at NOW, and sets the timers anew: a
 * timer that is due afterwards is a reason to stop. If the reader of a
 * pseudo-terminal's output is gone, sends the target SIGPIPE. */
void output_watch_update(struct run *run, int64_t now);
