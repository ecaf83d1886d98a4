#ifndef WDRUN_ORPHANS_H
#define WDRUN_ORPHANS_H

#include <stddef.h>

#include "entry.h"

#define ORPHANS_TEXT_SIZE 1024

/* What became of the processes of a run whose watchers are both dead. */
struct orphans {
	size_t killed;
	size_t left; /* that could not, or must not be killed */
	char killed_text[ORPHANS_TEXT_SIZE]; /* "4711 sleep 1000, 4712 …" */
	char left_text[ORPHANS_TEXT_SIZE];   /* with the reasons */
};

/*
 * Ends with SIGKILL the processes that ENTRY, of this boot and this PID
 * namespace, proves to be its run's: see proof.h. Looks until nothing is left,
 * for 8 seconds at most until all of it is frozen, and 5 until it is dead.
 * Returns 0, or -1 with errno where it could not look.
 * May have to wait longer, as environment_read_id may.
 */
int orphans_end(const struct entry *entry, struct orphans *orphans);

/*
 * Sends SIGNAL to this very process, or to nobody. Returns 0, or -1 with errno:
 * ESRCH where it is dead.
 */
int orphans_signal(const struct identity *identity, int signal);

#endif
