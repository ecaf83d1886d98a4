#pragma once

#include <stdint.h>

struct run;

/* --heartbeat: a helper prints a line on stderr whenever the command has been
 * silent for that time. */

/* Sets the timer of the first heartbeat, the command being started at NOW. */
void heartbeat_begin(struct run *run, int64_t now);

/* If a heartbeat is due at NOW, starts its helper and sets the next timer. */
void heartbeat_attend(struct run *run, int64_t now);

/* Kills a helper that still prints, and unsets the timer of the heartbeat. */
void heartbeat_end(struct run *run);
