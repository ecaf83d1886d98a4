#pragma once

/*
 * An entry of the registry: the text by which any later process recognises the
 * processes and files of a run. It is made of lines "KEY VALUE" that end with a
 * null byte, as a value may have newlines: "tr '\0' '\n' <ID.run" shows it. The
 * front writes these before it waits for its locks:
 *
 * wdrun       the version of the format, 2
 * host        where the PIDs below mean something: registry_read_host()
 * name        the value of --name, if any
 * until       when the wait for the locks ends, in nanoseconds since the epoch
 * kill-after  in nanoseconds
 * file        of a lock: before and path of a struct cleanup; a line for each
 * arg         a word of the command; a line for each
 * front       PID of the front, and its start in clock ticks after boot; last,
 *             so that an entry that has this line is complete
 *
 * And the target appends these before it executes COMMAND:
 *
 * file        of a --cleanup, as above
 * until       now: when the run ends by --timeout
 * session     the session that the supervisor made for the target; 0: none
 * supervisor  as front; last, too
 *
 * Readers pass over unknown keys: a change of an entry's meaning changes the
 * version.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lock/cleanup.h"
#include "proc/procid.h"

#define ENTRY_COMMAND_MAX 8192  /* bytes of all words, with null bytes */
#define ENTRY_WORDS       512   /* that are kept; of a longer command, the */
#define ENTRY_CUT         "..." /* next word stands for the rest */
#define ENTRY_FILES_MAX   32

struct entry {
	const char *host;
	const char *name;   /* or NULL */
	int64_t until;      /* as duration_since_epoch(), or NEVER */
	int64_t kill_after; /* or NEVER */
	size_t file_count;
	struct cleanup files[ENTRY_FILES_MAX]; /* locks: CLEANUP_UNKNOWN */
	char *command[ENTRY_WORDS + 2];        /* NULL-terminated */
	struct procid front;
	struct procid supervisor; /* PID 0: the target is not started yet */
	pid_t session;
};

/* Appends the front's part of ENTRY to TEXT, with COMMAND, NULL-terminated, in
 * the place of entry->command. */
void entry_format(struct strbuf *text, const struct entry *entry,
                  char *const command[]);

/* Appends the target's part of ENTRY to TEXT. */
void entry_format_target(struct strbuf *text, const struct entry *entry);

/* Reads the SIZE bytes at TEXT, which it changes, into ENTRY, which points into
 * TEXT. Returns 1; 0 where the front was killed before its part was complete;
 * or -1 where TEXT is no entry. */
int entry_parse(char *text, size_t size, struct entry *entry);
