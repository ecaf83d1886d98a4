#pragma once

#include <stddef.h>

#include "proc/procid.h"
#include "registry/entry.h"

#define ORPHANS_TEXT_SIZE   1024
#define ORPHANS_STOPPED_MAX (1 << 18)

/* What orphans_end() has done so far, in memory that the helper which calls
 * orphans_end(), and may hang, shares with its parent. */
struct orphans {
	size_t killed;
	size_t left;                         /* not killed, proven or not */
	char killed_text[ORPHANS_TEXT_SIZE]; /* "4711 sleep 1000, 4712 …" */
	char left_text[ORPHANS_TEXT_SIZE];   /* likewise, with reasons */
	size_t stopped_count;
	struct procid stopped[ORPHANS_STOPPED_MAX]; /* by SIGSTOP */
};

/*
 * Kills the processes that belong to the run of ENTRY (match.h), a run of this
 * boot and this PID namespace: stops all by SIGSTOP, for at most 8 seconds, and
 * then sends SIGKILL until none is left, for at most 5 seconds. Fills ORPHANS,
 * which is all 0. Returns 0, or -1 with errno where processes cannot be read.
 * May block as runid_read().
 */
int orphans_end(const struct entry *entry, struct orphans *orphans);

/* Continues the processes that orphans_end() stopped and did not kill. */
void orphans_continue(const struct orphans *orphans);
