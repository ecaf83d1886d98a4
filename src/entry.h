#ifndef WDRUN_ENTRY_H
#define WDRUN_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "identity.h"
#include "message.h"
#include "runid.h"
#include "snapshot.h"

#define ENTRY_TEXT_MAX     32768 /* bytes of a whole entry */
#define ENTRY_ARGUMENT_MAX 1024  /* of an argument that is kept */
#define ENTRY_COMMAND_MAX  8192  /* of all that are kept */
#define ENTRY_FILES_MAX    16

struct entry_cleanup {
	const char *path;
	struct snapshot before; /* what it was when the run began */
};

/* What is on record of a run, so that its processes and files can be recognised
 * by somebody who was not there. */
struct entry {
	const char *id;
	const char *name; /* or NULL */
	const char *boot;
	const char *host; /* its name; or NULL */
	uint64_t pid_namespace;
	uint64_t time_namespace; /* by which starts are told, or 0 */
	struct identity front;   /* pid 0 in another PID namespace */
	struct identity supervisor;
	struct identity target;
	bool has_session;   /* the target leads a session of its own */
	int64_t started;    /* as duration_now() */
	int64_t started_at; /* as duration_since_epoch() */
	int64_t timeout;    /* or NEVER */
	int64_t kill_after;
	const char *directory; /* the caller's, or NULL */
	size_t lock_count;
	const char *locks[ENTRY_FILES_MAX];
	size_t cleanup_count;
	struct entry_cleanup cleanups[ENTRY_FILES_MAX];
	const char *command; /* as many strings, one behind the other */
	size_t argument_count;
	bool is_cut; /* of the command, not all was kept */
};

/*
 * Appends ENTRY to LINE as text: "key value" lines, the last of which is "end".
 * entry->command is not looked at, but COMMAND, NULL-terminated as in main(),
 * of which no more is kept than fits the limits above, and LINE; where that is
 * not all, or entry->is_cut, the text says so. Returns 0, or -1 with errno
 * EMSGSIZE.
 */
int entry_format(struct line *line, const struct entry *entry,
                 char *const command[]);

/*
 * Reads the LENGTH bytes of TEXT, which has room for one more and is changed:
 * ENTRY points into it. Returns 0, or -1 with errno: EINVAL where it is none,
 * or none that is whole; ENOTSUP where it is from a version that writes
 * another format.
 */
int entry_parse(char *text, size_t length, struct entry *entry);

#endif
