#ifndef WDRUN_TIMEOUT_PERSONALITY_H
#define WDRUN_TIMEOUT_PERSONALITY_H

#include "../watchdog.h"
#include "duration.h"
#include "message.h"

/*
 * What differs where wdrun was started under the name timeout: the command
 * line, the words and the statuses are those of POSIX.1-2024, timeout, and of
 * GNU coreutils 9, "timeout: Run a command with a time limit". The run is the
 * same as any other.
 */

/* Whether ARGUMENT0 is such a name: one that ends with "timeout", as
 * "/opt/bin/timeout" and, beside the system's own, "wdrun-timeout" do. NULL is
 * none. */
bool timeout_personality_applies(const char *argument0);

/*
 * Reads timeout's command line into *OPTIONS, which holds wdrun's defaults, and
 * leaves optind at COMMAND. From then on messages begin with "timeout: ", and
 * the signal of a timeout is not ignored any more. Returns as options_read.
 */
int timeout_personality_read(struct options *options, int argc, char *argv[]);

/* What a command that was stopped has left gets, after it. */
#define ORPHANS_GRACE (5 * SECOND)

/* Whether what is left has just got the signal for which RUN is to be stopped,
 * WHY, together with the command, which ended of it. */
bool timeout_personality_has_signalled(const struct run *run, enum reason why);

/* Whether nothing is to be told of a change for the reason WHY, since timeout
 * is silent on what goes as it was asked to. */
bool timeout_personality_is_silent(const struct run *run, enum reason why);

/* Appends to LINE what timeout -v has to say of RUN's change for the reason
 * WHY, if anything; or returns false: it is for wdrun to tell. */
bool timeout_personality_add(struct line *line, const struct run *run,
                             enum reason why);

/* Tells that the target has dumped its core, if it has. */
void timeout_personality_tell_core(const struct run *run);

/* How timeout is to end after a timeout. */
struct outcome timeout_personality_verdict(const struct run *run);

#endif
