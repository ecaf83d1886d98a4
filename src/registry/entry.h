#pragma once

/*
 * An entry of the registry: the text by which any later process recognises the
 * processes and files of a run. It is made of lines "KEY VALUE" that end with a
 * null byte, as a value may have newlines: "tr '\0' '\n' <ID.run" shows it. The
 * front writes these before it waits for its locks:
 *
 * wdrun   the version of the format, 2
 * host    where the PIDs below mean something: registry_read_host()
 * name    the value of --name, if any
 * file    of a lock: before and path of a struct cleanup; a line for each
 * arg     a word of the command; a line for each
 * front   its PID, and its start in clock ticks after boot; when the wait for
 *         the locks ends (nanoseconds since the epoch); --kill-after. The last
 *         line: an entry that has it is complete
 *
 * And the target appends these before it executes COMMAND:
 *
 * file    of a --cleanup, as above
 * target  PID and start of the supervisor; the session that it made for the
 *         target, or 0; when the run ends by --timeout
 *
 * Readers pass over unknown keys: a change of an entry's meaning changes the
 * version.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lock/lock.h"
#include "proc/procfs.h"

#define ENTRY_FILES_MAX 32

struct entry {
	const char *host;
	const char *name; /* or NULL */
	size_t file_count;
	struct cleanup files[ENTRY_FILES_MAX]; /* locks: CLEANUP_UNKNOWN */
	const char *command;                   /* its first word */
	struct procid front;
	int64_t kill_after;       /* or NEVER */
	struct procid supervisor; /* PID 0: the target is not started yet */
	pid_t session;
	int64_t until; /* as duration_since_epoch(), or NEVER */
};

/* Appends the front's part of ENTRY to TEXT, with COMMAND, NULL-terminated, in
 * the place of entry->command. */
void entry_format(struct strbuf *text, const struct entry *entry,
                  char *const command[]);

/* Appends the target's part of ENTRY to TEXT. */
void entry_format_target(struct strbuf *text, const struct entry *entry);

/* Reads the SIZE bytes at TEXT, with a null byte behind them, into ENTRY, which
 * points into TEXT; the call changes TEXT. Returns 1; 0 where the front was
 * killed before its part was complete; or -1 where TEXT is no entry. */
int entry_parse(char *text, size_t size, struct entry *entry);

/* Returns the word behind WORD in the command of an entry, or NULL. */
const char *entry_next_word(const char *word);
