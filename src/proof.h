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
	bool is_own; /* its real user is our effective one */
	enum standing standing;
	bool is_new;         /* it was not proven in the sweep before */
	char id[RUNID_SIZE]; /* its WDRUN_ID, or empty */

	/* Of the caller's, kept from sweep to sweep: */
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
	/* Called in each sweep for who is proven; if by its ID or its parent,
	 * at once, before others are looked at. */
	void (*on_sight)(const struct suspect *suspect);
	size_t unseen; /* in which an ID could not be seen, and may have been */
	struct suspects now;
	struct suspects before; /* those of the sweep before */
};

/* So many sweeps in a row that find nobody who is proven, and nobody unseen,
 * are proof that nobody of the run is left who can be proven, see prooflook.h:
 * it cannot be that PIDs begin anew in each of them, which takes as many forks
 * as there are PIDs. */
#define PROOF_EMPTY_SWEEPS 2

/*
 * Reads into lineup->now all living processes that began when the run had, and
 * their standing, which one that has any keeps from sweep to sweep: what proved
 * it may die before it. Costs a look at each process of the machine. Returns 0,
 * or -1 with errno. May have to wait, as environment_read_id may.
 */
int proof_read(struct lineup *lineup);

/* Releases what proof_read has got. */
void proof_release(struct lineup *lineup);

#endif
