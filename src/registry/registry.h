#pragma once

/*
 * The registry: a directory with an entry, the file "ID.run", for each run.
 *
 * An entry is a lock. The front takes an open file description lock on it
 * (fcntl(2)) and shares the description with the supervisor: the kernel keeps
 * the lock until both are dead. A locked entry is of a living run, or of one
 * that another wdrun finishes; one that is not locked, of an orphaned run. Its
 * holder unlinks it, and then unlocks it.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "lock/lock.h"
#include "proc/procfs.h"
#include "watchdog.h"

#define REGISTRY_HOST_SIZE 160

/*
 * The text of an entry, by which any later process recognises the processes and
 * files of a run. It is made of lines "KEY VALUE" that end with a null byte, as
 * a value may have newlines: "tr '\0' '\n' <ID.run" shows it. The front writes
 * these before it waits for its locks:
 *
 * wdrun   the version of the format, 4
 * host    where the PIDs below mean something: machine, boot, PID namespace
 * name    the value of --name, if any
 * keep    the names of --keep, if any
 * file    of a lock: BEFORE and path of a struct cleanup; a line for each
 * arg     a word of the command; a line for each
 * front   its PID, and its start in clock ticks after boot; when the wait for
 *         the locks ends (nanoseconds since the epoch); --kill-after. The last
 *         of the front's lines: an entry that has it is complete
 *
 * And the target appends these before it executes COMMAND:
 *
 * file    of a --cleanup, as above
 * supervisor  its PID and start (it leads a session of its own); and when
 *         --timeout ends the run
 *
 * Readers pass over unknown keys. A new meaning needs a new version.
 */
struct entry {
	char id[RUNID_SIZE];
	char *text; /* SIZE bytes, and a null byte */
	size_t size;
	const char *keep; /* in the text, as in struct tree; or NULL */
	struct procid front;
	struct procid supervisor; /* PID 0: the target is not started yet */
	int64_t started;          /* since the epoch, from the ID */
	int64_t until;            /* since the epoch, or NEVER */
	int64_t kill_after;       /* or NEVER */
	const char *state;        /* as --list shows it */
	bool is_held;             /* locked, after it was read */
	bool is_orphaned;         /* both watchers are dead */
	bool is_elsewhere;  /* of another machine, boot or PID namespace */
	bool is_taken;      /* registry_take() has locked it */
	int fd;             /* with that lock; or -1 */
	struct strbuf line; /* the message; free(3) its text */
	size_t killed;
	size_t left; /* processes for which the run stays on record */
	/* A proven process was in the supervisor's session: so all its members
	 * are the run's. While one lives, no other session gets its number. */
	bool session_is_proven;
};

/* Returns the value of the first line KEY of ENTRY; or, with VALUE, of the
 * first behind the line that has VALUE. Returns NULL if there is none. */
const char *entry_value(const struct entry *entry, const char *key,
                        const char *value);

/* Reads the front, the supervisor and the times from the text of ENTRY. Returns
 * whether the front's part is complete. */
bool entry_parse(struct entry *entry);

/* --- the entry of this run ------------------------------------------------ */

struct record {
	int directory_fd; /* the registry, or -1 */
	int fd;           /* the entry there, locked; or -1: none */
};

/* Whether the run is to be on record: OPTIONS have a name or a registry. */
bool record_is_wanted(const struct options *options);

/* In the front: puts the run ID on record, if that is wanted. NOW, in ns since
 * the epoch, is when its wait for locks begins. May make the registry. Returns
 * 0, or -1 after a message. */
int record_begin(struct record *record, const struct options *options,
                 const char *id, int64_t now);

/* In the target, before its exec: adds to a record the COUNT CLEANUPS, the
 * supervisor, and when --timeout ends the run. Returns 0, or -1 with errno. */
int record_start(const struct record *record, const struct cleanup cleanups[],
                 size_t count, int64_t until);

/* Takes the run ID off the record, if it is there. Returns 0, or -1 after a
 * message. */
int record_end(const struct record *record, const char *id);

/* --- all runs ------------------------------------------------------------- */

/* The runs of a registry. */
struct registry {
	bool is_quiet;
	bool is_requested; /* by --reap or --cancel: tells what stays */
	bool is_read;      /* all of it; else a message has told why not */
	char path[PATH_MAX];
	char host[REGISTRY_HOST_SIZE];
	int directory_fd;      /* -1: there is no such directory */
	struct entry *entries; /* by the PID of the front */
	size_t count;
};

/* Reads the registry GIVEN, or the default one, into REGISTRY; no entries where
 * that is missing. Call registry_end() then, too, unless this process ends. */
void registry_begin(struct registry *registry, const char *given);
void registry_end(struct registry *registry);

/* Waits until the run of ENTRY is orphaned or over, or DEADLINE; ONLY_IF_DYING:
 * not for a front that sleeps or is stopped. Returns whether the run is
 * orphaned or over. */
bool registry_await(const struct registry *registry, const struct entry *entry,
                    int64_t deadline, bool only_if_dying);

/* Locks ENTRY until registry_end(), to finish its run, and reads it again.
 * Returns false where another wdrun has it, or with errno ENOENT and FD -1,
 * where it is gone. */
bool registry_take(struct registry *registry, struct entry *entry);

/* --- commands ------------------------------------------------------------- */

/* Instead of running a command. Each returns the exit status. */

/* --list: prints the runs on record. */
int list_print(const struct options *options);

/* --cancel: stops the run that it means, and waits for its end. */
int cancel_run(const struct options *options);

/* --explain: stores as *ROOT the supervisor of the run that it means; or its
 * front, as long as that waits for a lock. */
int explain_run(const struct options *options, pid_t *root);

/* Finishes the runs whose watchers are dead; if IS_REQUESTED, by --reap. Before
 * a run: for 10 seconds at most, tells only what it has done, and fails only
 * where the registry is refused. */
int reap_orphans(const char *given, bool is_quiet, bool is_requested);

/* Finishes the orphaned run of ENTRY, or waits for another wdrun that does; and
 * tells what was done, or why it stays on record. Returns 0 when it is off the
 * record, else -1. */
int reap_entry(struct registry *registry, struct entry *entry);

/* In a front whose SUPERVISOR is dead and reaped: kills in the same way, for 10
 * seconds at most, what is proven to be of the run ID, on record or not, but
 * not what KEEP, the names of --keep or NULL, lets live. */
void reap_own_run(const char *id, pid_t supervisor, const char *keep);
