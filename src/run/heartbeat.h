#pragma once

#include <stdint.h>

struct run;

/* --heartbeat: prints a line on stderr whenever the command has been silent for
 * that time. */

/* Sets the timer of the first heartbeat, the command being started at NOW. */
void heartbeat_begin(struct run *run, int64_t now);

/* If a heartbeat is due at NOW, prints it and sets the next timer. */
void heartbeat_attend(struct run *run, int64_t now);
