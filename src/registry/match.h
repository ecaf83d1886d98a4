#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/numbers.h"
#include "proc/procid.h"
#include "proc/runid.h"
#include "registry/entry.h"

/*
 * Finds in /proc which processes belong to a run on record. One of these rules
 * proves that a process P belongs to the run:
 *
 * A: P has the run's ID in its environment.
 *
 * B: P is in the session that the supervisor made for the run. The target or
 * the supervisor's zombie is in that session too, and started just before the
 * entry was written.
 *
 * C: P is in that session, another process in the session is proven, and no
 * other process has the supervisor's PID.
 *
 * D: The parent of P is proven, and alive.
 *
 * E: P has the same ID as a proven process, the ID of a run within the run: the
 * inner run began later, and its front is dead, or proven too.
 *
 * No rule proves a process that was started before the run's watchers; nor, if
 * the run made a session of its own, a process in a session in which the scan
 * has met such an older process, since no process can join an existing session
 * (setsid(2)).
 *
 * A process whose ID cannot be read may belong to the run, unless its parent is
 * younger than the watchers and alive, and does not belong to the run: what
 * adopts the orphans of the run from outside is init or an ancestor of the
 * watchers, and so is older.
 */
enum match_result {
	MATCH_NONE, /* no rule applies */
	MATCH_PROVEN,
	MATCH_UNPROVEN,   /* rule C, but no process of the session is proven */
	MATCH_OTHER_USER, /* proven, but another user's now */
	MATCH_ANCESTOR,   /* proven, but is this process or an ancestor */
};

struct candidate {
	struct procid procid; /* start 0: "stat" cannot be read in time */
	pid_t parent;
	pid_t session;
	char state;  /* as in proc(5) */
	bool is_own; /* its real user is our effective one */
	enum match_result result;
	bool is_new;     /* not proven in the scan before */
	bool is_read;    /* its ID was read, or is of no importance */
	bool is_stuck;   /* its ID cannot be read in time */
	bool is_between; /* in execve(2) or exit(2): its ID cannot be read */
	bool may_belong; /* stuck or between, and nothing else tells */
	char id[RUNID_SIZE]; /* value of its WDRUN_ID, or empty */
	bool got_kill;       /* for the caller: kept from scan to scan */
};

struct candidates {
	struct candidate *entries; /* sorted by PID */
	size_t count;
	size_t capacity;
};

struct match {
	const struct entry *entry;
	/* Called for each proven process, at least once in each scan; after
	 * rule A or D, before the scan looks at the next process. */
	void (*on_proven)(const struct candidate *candidate, void *context);
	void *context;
	/* Processes that may belong to the run: */
	size_t unseen; /* in execve(2) or exit(2): their ID cannot be read */
	size_t stuck;  /* whose ID cannot be read in time */
	struct numbers older_sessions; /* of processes older than the run */
	struct candidates now;
	struct candidates before; /* those of the scan before */
};

/*
 * After so many scans in a row without a proven and without an unseen process,
 * no process with the run's ID is left. Suppose that a process X has the ID, is
 * alive at the end of a scan, and was missed. Scans go by rising PIDs, so X was
 * forked when the scan had passed the PID of X, and the lower PID of X's
 * parent. A parent that the scan saw alive would be proven; from a parent that
 * it saw dead (PROCFS_GONE), the scan would have gone on and found X. So the
 * parent was forked behind the scan as well, and so on up to a process that was
 * there when the scan began. A parent has a higher PID only where PIDs begin
 * anew, which takes as many forks as there are PIDs: too many for two scans in
 * a row.
 */
#define MATCH_EMPTY_SCANS 2

/* Reads into match->now all living processes that were started no earlier than
 * the run's watchers, and applies the rules. Looks at each process of the
 * machine. A process once proven stays proven in later scans, as its proof may
 * die first. Returns 0, or -1 with errno. May block as runid_read(). */
int match_scan(struct match *match);

/* Releases the memory of MATCH. Keeps errno. */
void match_free(struct match *match);
