#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "proc/procid.h"
#include "proc/runid.h"
#include "registry/entry.h"

/*
 * Which processes belong to a run on record, as /proc shows them. A process is
 * proven to belong to the run by one of these rules:
 *
 * A: The process has the run's ID in its environment.
 *
 * B: The process is in the session that the supervisor made for the run, and
 * so is the target, alive or as a zombie, which started just before the entry
 * was written.
 *
 * C: The process is in that session, another process in it is proven, and no
 * other process has the supervisor's PID.
 *
 * D: The parent of the process is proven, and alive.
 *
 * E: The process has the same ID as a proven process, the ID of a run within
 * the run: it is later than the run's, and its front is dead, or proven too.
 *
 * By no rule does a process belong to the run that was started before the run's
 * watchers.
 */
enum match_result {
	MATCH_NONE, /* no rule applies */
	MATCH_PROVEN,
	MATCH_UNPROVEN,   /* rule C, but no process of the session is proven */
	MATCH_OTHER_USER, /* proven, but another user's process now */
	MATCH_ANCESTOR,   /* proven, but this process or its ancestor */
};

struct candidate {
	struct procid procid; /* start 0: "stat" could not be read in time */
	pid_t parent;
	pid_t session;
	char state;  /* as in proc(5) */
	bool is_own; /* its real user is our effective one */
	enum match_result result;
	bool is_new;         /* not proven in the scan before */
	bool is_stuck;       /* its ID could not be read in time */
	char id[RUNID_SIZE]; /* the value of its WDRUN_ID, or empty */
	bool got_kill;       /* the caller's, kept from scan to scan */
};

struct candidates {
	struct candidate *entries; /* sorted by PID */
	size_t count;
	size_t capacity;
};

struct match {
	const struct entry *entry;
	/* Called in each scan for each proven process; for a process that rule
	 * A or D proves, before the scan looks at the next process. */
	void (*on_proven)(const struct candidate *candidate, void *context);
	void *context;
	size_t unseen; /* how many may have an ID that could not be read */
	size_t stuck;  /* how many of them could not be read in time */
	struct candidates now;
	struct candidates before; /* those of the scan before */
};

/*
 * After so many scans in a row without a proven and without an unseen process,
 * no process that has the run's ID is left. Say that X has the ID, is alive at
 * the end of a scan, and was not looked at. Scans go by rising PIDs, so X was
 * forked when the scan had passed the PID of X, and the lower PID of X's
 * parent. If the scan had seen the parent alive, it would have found the
 * parent; if it had seen the parent dead, it would have gone on from there
 * (PROCFS_GONE) and found X. So the parent was forked behind the scan as well,
 * and so on up to a process that was there when the scan began. A parent has a
 * higher PID only where PIDs begin anew, and that cannot be in two scans in a
 * row: it takes as many forks as there are PIDs.
 */
#define MATCH_EMPTY_SCANS 2

/*
 * Reads into match->now all living processes that were started after the run's
 * watchers, and what they are to the run. A process that is proven once stays
 * proven from scan to scan, as the proof may die first. Looks at each process
 * of the machine. Returns 0, or -1 with errno. May block as
 * runid_read().
 */
int match_scan(struct match *match);

/* Releases the memory of MATCH. Keeps errno. */
void match_free(struct match *match);
