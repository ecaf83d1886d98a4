#pragma once

#include <stddef.h>

#include "base/text.h"

struct entry;

/* What came of the processes of an orphaned run. */
struct orphans {
	size_t killed;
	size_t left;        /* may belong to the run, and are not killed */
	struct strbuf text; /* the killed, "4711 sleep 9, 4712 …" */
	struct strbuf why;  /* the same of those that are left, with reasons */
};

/*
 * Kills the processes of the run ID, whose watchers are dead, by SIGKILL, until
 * two readings of /proc in a row find none.
 *
 * A process belongs to the run if ID is in its WDRUN_ID; if its parent belongs
 * to the run; or if it is in the session that the supervisor made, and another
 * process of that session belongs to the run. A process of that session without
 * such a proof, one of another user, this process and its ancestors are not
 * signalled, and count as left. Fills in ORPHANS, which is empty but for the
 * buffers of its texts. Returns 0, or -1 with errno where /proc cannot be read.
 * May wait for a process that does not answer.
 */
int orphans_end(const struct entry *entry, const char *id,
                struct orphans *orphans);
