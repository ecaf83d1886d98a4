#pragma once

#include <stdint.h>

struct run;

/* --heartbeat: a line on stderr, printed by a helper, each time that the
 * command was silent for so long. */

/* Sets the timer of the first heartbeat, the command being started at NOW. */
void heartbeat_begin(struct run *run, int64_t now);

/* If a heartbeat is due at NOW, starts its helper and sets the next timer. */
void heartbeat_attend(struct run *run, int64_t now);

/* Ends the helper, if it is still printing, and sets no heartbeat any more. */
void heartbeat_end(struct run *run);
