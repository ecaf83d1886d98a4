#pragma once

#include <stdbool.h>

struct run;
struct outcome;

/* Forwards signals to the supervisor until the supervisor is dead. Returns true
 * if the supervisor had sent its outcome, with that in *OUTCOME; false if the
 * supervisor was killed before, with RUN ready for the front to take over. */
bool front_watch(struct run *run, struct outcome *outcome);

/* Ends this process by OUTCOME: by its exit status, or by its signal. */
_Noreturn void front_end(struct outcome outcome);
