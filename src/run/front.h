#pragma once

#include <stdbool.h>

struct run;
struct outcome;

/* The life of the front while the supervisor lives: passes signals on, carries
 * output and keys, stops and goes on with the job, and kills a supervisor that
 * is late. Returns true with *OUTCOME when the supervisor has come to one; or
 * false if the supervisor was killed before: its orphans are now ours. */
bool front_watch(struct run *run, struct outcome *outcome);

/* After the end of the run: delivers what dead processes have written, as far
 * as its readers take it in time. Leaves a process behind for survivors that
 * are let go. */
void front_drain(struct run *run);

/* Ends the front as OUTCOME says. */
_Noreturn void front_end(const struct run *run, struct outcome outcome);
