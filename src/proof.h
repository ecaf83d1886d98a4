#ifndef WDRUN_PROOF_H
#define WDRUN_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "entry.h"
#include "identity.h"
#include "runid.h"

/*
 * Which processes a run on record proves to be its own, by what /proc says of
 * them. Nobody here is signalled but by lineup.on_sight.
 */

enum standing {
	STANDING_STRANGER, /* nothing says that it is of the run */
	STANDING_PROVEN,
	STANDING_UNPROVEN, /* in what may be the run's session: no proof */
	STANDING_FOREIGN,  /* of the run, but another user's now */
	STANDING_ABOVE,    /* of the run, but this process or its ancestor */
};

struct suspect {
	struct identity identity;
	pid_t parent;
	pid_t session;
	char state;
	bool is_own;   /* its real user is our effective one */
	bool is_above; /* this process, or an ancestor of it */
	enum standing standing;
	char id[RUNID_SIZE]; /* its WDRUN_ID, or empty */

	bool is_new;   /* not seen in the sweep before; else kept from it: */
	bool got_stop; /* SIGSTOP was sent to it */
	bool got_kill;
	bool is_named; /* among those that are killed */
};

struct suspects {
	struct suspect *entries; /* sorted by PID */
	size_t count;
	size_t capacity;
};

struct lineup {
	const struct entry *entry;
	/* Called at once for what carries the run's ID, before others are
	 * looked at; or NULL. Returns whether it got SIGSTOP. */
	bool (*on_sight)(const struct identity *identity);
	size_t missed; /* that were gone when they were to be looked at */
	struct suspects now;
	struct suspects before; /* those of the sweep before */
};

/*
 * Reads into lineup->now all living processes that began when the run had, and
 * their standing, which one that has any keeps from sweep to sweep: what proved
 * it may die before it. Costs a look at each process of the machine. What was
 * gone before it was looked at, or was within an execve(2), is counted: it may
 * have left a child whom nobody has seen. Returns 0,
 * or -1 with errno. May have to wait, as environment_read_id may.
 */
int proof_read(struct lineup *lineup);

/* Releases what proof_read has got. */
void proof_release(struct lineup *lineup);

#endif
