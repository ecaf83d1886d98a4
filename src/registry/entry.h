#pragma once

/*
 * An entry of the registry: the text by which any later process recognises the
 * processes and files of a run. A line is a key, a blank and a value. The
 * front writes these lines before it waits for its locks:
 *
 * wdrun 2     the version of the format
 * host        where the PIDs below mean something: registry_host()
 * front       PID of the front, and its start in clock ticks after boot
 * epoch       when wdrun was started, in nanoseconds since the epoch
 * wait        --lock-wait in nanoseconds, or "never"; so the next two:
 * timeout
 * kill-after
 * name        the value of --name
 * directory   the caller's working directory
 * lock        the absolute path of a lock file; a line for each
 * arg         an argument of the command, from COMMAND on; a line for each
 * cut         not all of the command is kept
 * written     the front's part is complete
 *
 * And the target appends these before it executes COMMAND:
 *
 * cleanup     when what was at the path of a --cleanup when the run began was
 *             made (nanoseconds since the epoch; 0: nothing was there; see
 *             struct cleanup), and the absolute path; a line for each
 * supervisor  its PID and start
 * session     the session that the supervisor made for the target; 0: none
 * started     now, in nanoseconds since the epoch
 * target      its PID
 *
 * The keys name, directory, lock, cut and cleanup may be missing. Readers pass
 * over unknown keys: a change of an entry's meaning changes the first line. In
 * a value, a newline is "\n", and a backslash "\\".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lock/cleanup.h"
#include "proc/procstat.h"

#define ENTRY_SIZE_MAX    ((size_t)1 << 20) /* of a file that may be an entry */
#define ENTRY_COMMAND_MAX 8192 /* bytes of all arguments, with null bytes */
#define ENTRY_ARGUMENTS   512  /* that are kept */
#define ENTRY_FILES_MAX   16   /* locks, and cleanups */

struct entry {
	const char *host;
	struct procid front;
	int64_t started_at;    /* of wdrun; as duration_since_epoch() */
	int64_t lock_wait;     /* or NEVER */
	int64_t timeout;       /* or NEVER */
	int64_t kill_after;    /* or NEVER */
	const char *name;      /* or NULL */
	const char *directory; /* or NULL: not known */
	size_t lock_count;
	const char *locks[ENTRY_FILES_MAX];
	char *command[ENTRY_ARGUMENTS + 1]; /* NULL-terminated, as in main() */
	bool is_cut;                        /* COMMAND has more */
	bool is_written;                    /* the front's part is complete */

	/* Of the target; unknown as long as TARGET is 0. */
	size_t cleanup_count;
	struct cleanup cleanups[ENTRY_FILES_MAX]; /* path and before */
	struct procid supervisor;
	pid_t session;
	int64_t target_started_at; /* as duration_since_epoch() */
	pid_t target;
};

/* Appends the front's part of ENTRY to LINE, with as much of COMMAND,
 * NULL-terminated, as the limits above allow, in the place of
 * entry->command. */
void entry_format(struct strbuf *line, const struct entry *entry,
                  char *const command[]);

/* Appends the target's part of ENTRY to LINE. */
void entry_format_target(struct strbuf *line, const struct entry *entry);

/* Reads the string TEXT into ENTRY, which points into TEXT; the call changes
 * TEXT. Returns 0, or -1 with errno: ENODATA where the front was killed before
 * its part was complete, EINVAL where TEXT is no entry. */
int entry_parse(char *text, struct entry *entry);
