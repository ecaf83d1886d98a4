#pragma once

/*
 * The registry: a directory with an entry, the file "ID.run", for each run.
 *
 * An entry is a lock. The front takes an open file description lock on it
 * (fcntl(2)) and shares the description with the supervisor: the kernel keeps
 * the lock until both are dead. A locked entry is of a living run, or of one
 * that another wdrun finishes; one that is not locked, of an orphaned run. It
 * is unlinked before the lock goes.
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

struct dirent;

/*
 * The text of an entry, by which any later process recognises the processes and
 * files of a run. It is made of lines "KEY VALUE" that end with a null byte, as
 * a value may have newlines: "tr '\0' '\n' <ID.run" shows it. The front writes
 * these before it waits for its locks:
 *
 * wdrun   the version of the format, 4
 * host    where the PIDs below mean something: machine, boot, PID namespace
 * name    the value of --name, if any
 * file    of a lock: time, inode and path of a struct cleanup; one for each
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
 * Readers pass over unknown keys. Another meaning is another version.
 */
#define ENTRY_FILES_MAX ((size_t)2 * FILES_MAX)

struct entry {
	const char *host;
	const char *name; /* or NULL */
	size_t file_count;
	struct cleanup files[ENTRY_FILES_MAX]; /* locks: CLEANUP_UNKNOWN */
	const char *command;                   /* its first word */
	struct procid front;
	int64_t kill_after;       /* or NEVER */
	struct procid supervisor; /* PID 0: the target is not started yet */
	int64_t until;            /* since the epoch, or NEVER */
};

/* Reads the SIZE bytes at TEXT, and a null byte, into ENTRY, which points into
 * TEXT, and changes it. Returns whether the front's part is complete. */
bool entry_parse(char *text, size_t size, struct entry *entry);

/* Returns the word behind WORD in the command of an entry, or NULL. */
const char *entry_next_word(const char *word);

/* --- the directory -------------------------------------------------------- */

/* Removes the entry of the run ID, if any. Returns 0, or -1 with errno. */
int registry_remove(int directory_fd, const char *id);

/* --- the entry of this run ------------------------------------------------ */

struct record {
	int directory_fd; /* the registry, or -1 */
	int fd;           /* the entry there, locked; or -1: none */
};

/* Whether OPTIONS or the environment ask for a record of the run. */
bool record_is_wanted(const struct options *options);

/* In the front: puts the run ID of OPTIONS on record, from NOW on, in ns since
 * the epoch. May make the registry. Returns 0; or -1 after a message, with
 * errno, 0 where registry or /proc (of another PID namespace) are refused. */
int record_begin(struct record *record, const struct options *options,
                 const char *id, int64_t now);

/* In the target, before its exec: adds to a record the COUNT CLEANUPS, the
 * supervisor, and when --timeout ends the run. Returns 0, or -1 with errno. */
int record_start(const struct record *record, const struct cleanup cleanups[],
                 size_t count, int64_t until);

/* Takes the run ID off the record, if it is there; or prints why it cannot. */
void record_end(const struct record *record, const char *id);

/* --- all runs ------------------------------------------------------------- */

/* A walk over the runs of a registry, the oldest first. */
struct registry_walk {
	bool tells_all; /* also of entries that are of no use: --reap */
	bool is_read;   /* all of it; else a message has told why not */
	char path[PATH_MAX];
	char host[REGISTRY_HOST_SIZE];
	int directory_fd; /* -1: there is no such directory */
	struct dirent **files;
	int count;
	int next;

	/* The present run: */
	const char *file;
	char id[RUNID_SIZE];
	int64_t started_at; /* since the epoch */
	const char *state;  /* as --list shows it */
	bool is_orphaned;   /* both watchers are dead */
	bool is_elsewhere;  /* of another machine, boot or PID namespace */
	int fd;             /* or -1 */
	size_t size;
	char *text;
	struct entry entry;
};

/* Begins a walk over the registry GIVEN, a --registry, or the default one; over
 * nothing where that is missing. WALK is empty. End it anyway. */
void registry_begin(struct registry_walk *walk, const char *given);

/* Goes on to the next run. Returns false behind the last. */
bool registry_next(struct registry_walk *walk);

void registry_end(struct registry_walk *walk);

/* Whether the present entry is locked, so that its run is not orphaned. */
bool registry_is_held(const struct registry_walk *walk);

/* Locks the present entry, to finish its run, until the walk goes on. Returns
 * false where the entry has changed or gone, or another wdrun has it. */
bool registry_take(const struct registry_walk *walk);

/* --- commands ------------------------------------------------------------- */

/* What wdrun does instead of running a command. REGISTRY is the value of
 * --registry, or NULL. Each returns the exit status. */

/* --list, with AS_JSON --json: prints the runs on record. */
int list_print(const char *registry, bool as_json, bool is_quiet);

/* --cancel=WHICH, an ID, name or PID: stops that run, and waits for its end. */
int cancel_run(const char *registry, const char *which, bool is_quiet);

/* --explain: stores as *ROOT the supervisor of the run that WHICH means; or its
 * front, as long as that waits for a lock. Returns the exit status. */
int explain_run(const char *registry, const char *which, pid_t *root);

/* --reap: finishes the runs whose watchers are dead. */
int reap_all(const char *registry, bool is_quiet);

/* The same before a run is started: for 10 seconds at most, and tells only what
 * it has done. Returns 0, or -1 after a message: the registry is refused. */
int reap_before_run(const char *registry, bool is_quiet);

/* Finishes the orphaned run at WALK, and tells what was done, or why it stays
 * on record. Returns 0 when it is off the record, also by another wdrun, or
 * cannot be taken now; else -1. Takes the entry from WALK. */
int reap_entry(struct registry_walk *walk, bool is_quiet);

/* In a front whose SUPERVISOR is dead and reaped: kills in the same way, for 10
 * seconds at most, what is proven to be of the run ID, on record or not. */
void reap_own_run(const char *id, pid_t supervisor);
