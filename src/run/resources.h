#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "lock/cleanup.h"
#include "lock/lockfile.h"
#include "lock/lockset.h"
#include "run/report.h"
#include "watchdog.h"

#define RESOURCE_FDS (4 * FILES_MAX + 2)

struct run;

/* What both watchers and their helpers write for one another (teardown.c). */
struct teardown_page {
	_Atomic bool tree_is_empty;  /* when the run was over */
	_Atomic bool nobody_is_left; /* besides survivors that are let go */
	_Atomic bool is_released;    /* whether the locks are released */
	_Atomic bool is_done;        /* whether the teardown is done */
	_Atomic bool is_reported;
	struct report_facts report; /* if a report is wanted */
};

/* What a run has besides processes. */
struct resources {
	struct lockset lockset;
	struct lockfile locks[FILES_MAX]; /* of lockset */
	size_t cleanup_count;
	struct cleanup cleanups[FILES_MAX];
	int registry_fd; /* the registry's directory, or -1 */
	char path[PATH_MAX];
	const char *directory;      /* PATH: the caller's, or NULL: not known */
	int64_t started_at;         /* as duration_since_epoch() */
	struct teardown_page *page; /* shared memory */
};

/* Makes RUN's resources, if the options ask for any; opens the registry, and
 * finishes runs there whose watchers are dead. Takes no lock yet. Returns 0, or
 * -1 after a message. Comes before signals are blocked, as a file system may
 * hang. */
int resources_prepare(struct run *run);

/* Takes the locks, and looks at the files of --cleanup. Returns 0; or -1 after
 * a message and a note in the report, with *OUTCOME as wdrun is to end. */
int resources_acquire(struct run *run, struct outcome *outcome);

/* Writes the registry entry of RUN, if RUN is to have an entry. Is called in
 * the target, before its exec: a file system that hangs then hangs the target
 * alone, which --timeout ends. Returns 0, or -1 after a message. */
int resources_register(const struct run *run);

/* Removes the entry of RUN, if RUN can have one, or prints why not. */
void resources_unregister(const struct run *run);

/* Puts into KEEP the RESOURCE_FDS descriptors that watchers need, or -1. */
void resources_keep(const struct run *run, int keep[]);

/* Closes these descriptors in a helper, so that it keeps no lock. */
void resources_close(const struct run *run);
