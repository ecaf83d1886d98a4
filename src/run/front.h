#pragma once

#include <stdbool.h>

struct run;
struct outcome;

/*
 * Forwards signals to the supervisor until the supervisor is dead. Returns true
 * where the supervisor had sent its outcome, which is in *OUTCOME; false where
 * it was killed before, with RUN ready for the front to take the supervisor's
 * place.
 */
bool front_watch(struct run *run, struct outcome *outcome);

/* Ends this process by OUTCOME: by its exit status, or by its signal. */
_Noreturn void front_end(struct outcome outcome);
