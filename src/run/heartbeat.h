#pragma once

#include <stdint.h>

struct run;

/* --heartbeat: a helper prints a line on stderr whenever the command has been
 * silent for that time. */

/* Sets the timer of the first heartbeat, the command being started at NOW. */
void heartbeat_begin(struct run *run, int64_t now);

/* If a heartbeat is due at NOW, starts its helper and sets the next timer. */
void heartbeat_attend(struct run *run, int64_t now);

/* Unsets the timer of the heartbeat, and kills a helper that still prints. Does
 * not wait: beside a busy tree, the helper may not get a processor soon. */
void heartbeat_stop(struct run *run);

/* Does the work of heartbeat_stop(), and waits until the helper is dead. */
void heartbeat_end(struct run *run);
