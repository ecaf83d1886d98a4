#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "registry/entry.h"
#include "registry/host.h"
#include "registry/registry.h"

enum record_state {
	RECORD_WAITING,   /* the front is alive, and waits for a lock */
	RECORD_RUNNING,   /* front and supervisor are alive */
	RECORD_STOPPING,  /* the supervisor's name says so; or one watcher is
	                   * dead */
	RECORD_ORPHANED,  /* front and supervisor are dead */
	RECORD_OLD,       /* began before the last boot: all are dead */
	RECORD_ELSEWHERE, /* on another machine, in another namespace, or
	                   * without a /proc here: its processes cannot be
	                   * seen */
	RECORD_BROKEN,    /* the file holds no entry that can be read */
};

/* A file of the registry, and the state of its run. */
struct record {
	const char *file; /* its name in the directory */
	int directory_fd;
	int fd; /* the open file; -1 of a broken record */
	enum record_state state;
	/* Of a broken record: what is wrong with the file; or NULL where
	 * reading the file, which may hold an entry, failed with errno WHY. */
	const char *problem;
	int why;
	struct entry entry; /* of all but a broken record */
};

/* Goes over the records of a registry, one after the other. */
struct record_walk {
	struct registry_names names;
	size_t next; /* of the names */
	struct host host;
	bool can_verify; /* /proc shows the processes of this PID namespace */
	const char *unread; /* the file that record_walk_begin could not read */
	struct record record;          /* that was read last */
	char file[REGISTRY_FILE_SIZE]; /* for record_walk_find() */
	/* The text of the record, with a byte more than an entry may have, by
	 * which too large a file is noticed, and the null byte. */
	char text[ENTRY_TEXT_MAX + 2];
};

/* Begins a walk over the records in DIRECTORY_FD, which stays the caller's.
 * Without a /proc that shows the processes of this PID namespace, can_verify is
 * false, and all runs are RECORD_ELSEWHERE. Returns 0, or -1 with errno. The
 * caller calls record_walk_end in both cases. */
int record_walk_begin(struct record_walk *walk, int directory_fd);

/* Reads the next file into walk->record, in the order in which the runs began,
 * overwriting the record before. Leaves out files that were removed meanwhile,
 * also by the caller, and runs that have just ended. Returns 1; 0 where no file
 * is left; or -1 with errno, for want of memory or descriptors. */
int record_walk_next(struct record_walk *walk);

/* Reads the file of the run ID instead. Returns as record_walk_next. */
int record_walk_find(struct record_walk *walk, const char *id);

/* Prints why a call above failed, by errno, or that can_verify is false. */
void record_walk_report(const struct record_walk *walk);

void record_walk_end(struct record_walk *walk);

/* Whether the open file of RECORD still has its name in the directory. Returns
 * 1, 0, or -1 with errno. */
int record_has_name(const struct record *record);

/* Whether the name of the file of RECORD is that of the run ID. */
bool record_is_of(const struct record *record, const char *id);

/* Prints what is wrong with RECORD, which is RECORD_BROKEN. */
void record_report(const struct record *record);

/* "waiting", "running", "stopping", "orphaned" or "elsewhere"; NULL for other
 * states. */
const char *record_state_name(enum record_state state);
