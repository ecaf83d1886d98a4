#pragma once

#include "watchdog.h"

#define RESOURCE_FDS (3 * FILES_MAX + 4)

/* What a run holds besides processes: locks, files to clean up, an entry in the
 * registry, a report. */
struct run;

/* Makes RUN's resources, if the options need any, and finishes runs in the
 * registry whose watchers are dead. Takes no lock yet, and puts nothing on
 * record. Returns 0, or -1 after a message. Comes before signals are blocked,
 * so that a signal ends this process where a file system hangs. */
int resources_prepare(struct run *run);

/* Puts the run on record, takes the locks, and notes what there is at the
 * places of --cleanup. Returns 0; or -1 with *OUTCOME as wdrun is to end, after
 * a note in the report, and a message where one is due. */
int resources_acquire(struct run *run, struct outcome *outcome);

/* In the target, before its exec: appends to the registry entry of RUN, if RUN
 * is registered, what is known only now. Returns 0, or -1 with errno. */
int resources_register(const struct run *run);

/* Puts into KEEP, which is all 0, the RESOURCE_FDS descriptors that watchers
 * need, or -1. */
void resources_keep(const struct run *run, int keep[]);

/*
 * Removes the command's own lock files, the registry entry, and the locks of
 * RUN, whose processes are dead: report_note_end() says what is left. The
 * supervisor does it, and the front if the supervisor was killed before it was
 * done: each step may be done twice. May hang where a file system does; the
 * front kills a supervisor that does not end.
 */
void resources_release(const struct run *run);
