#pragma once

/*
 * An entry of the registry: the text by which any later process recognises the
 * processes and files of a run. The first line is "wdrun 1" (the version of the
 * format), the last line of a whole entry "end", and each line between is a
 * key, a blank and a value:
 *
 * id          the run's ID: the PID of the front, "-", and the start of the run
 *             in nanoseconds since the epoch, in hexadecimal
 * name        the value of --name
 * boot        the ID of the boot, /proc/sys/kernel/random/boot_id
 * machine     the ID of the machine, machine-id(5)
 * pidns       the inode number of the PID namespace, namespaces(7)
 * timens      the inode number of the time namespace; 0: the kernel has none
 * front       PID of the front, and its start in clock ticks after boot
 *             (proc(5), starttime); PID 0: it is in another PID namespace
 * supervisor  PID and start of the supervisor; while the run waits for a lock,
 *             of the front
 * target      PID and start of the target; while the run waits, of the front
 * session     "own": the target is in a session that the supervisor made; or
 *             "caller"
 * started     when the entry was made, in nanoseconds of CLOCK_MONOTONIC
 * epoch       when wdrun was started, in nanoseconds since the epoch
 * timeout     --timeout in nanoseconds, or "never"; while the run waits,
 *             --lock-wait
 * kill-after  --kill-after in nanoseconds, or "never"
 * directory   the caller's working directory
 * lock        the absolute path of a lock file; a line for each
 * cleanup     when what was at the path of a --cleanup when the run began was
 *             made (nanoseconds since the epoch; 0: nothing was there; see
 *             struct cleanup), and the absolute path; a line for each
 * arg         an argument of the command, from COMMAND on; a line for each
 * cut         no value; there if not all of the command is kept
 *
 * The keys name, machine, timens, directory, lock, cleanup and cut may be
 * missing. Keys come in any order, but behind the first arg only arg, cut and
 * unknown keys. Readers pass over unknown keys: a change of an entry's meaning
 * changes the first line. In a value, a backslash is "\\", and a control
 * character "\xNN".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "lock/cleanup.h"
#include "proc/procid.h"
#include "proc/runid.h"

#define ENTRY_TEXT_MAX     32768 /* bytes of a whole entry */
#define ENTRY_ARGUMENT_MAX 1024  /* bytes that are kept of an argument */
#define ENTRY_COMMAND_MAX  8192  /* of all arguments, with null bytes */
#define ENTRY_FILES_MAX    16    /* locks, and cleanups */

struct entry_locks {
	size_t count;
	const char *paths[ENTRY_FILES_MAX];
};

struct entry_cleanups {
	size_t count;
	struct cleanup files[ENTRY_FILES_MAX]; /* path and before */
};

/* The arguments, one after the other, each with its null byte. */
struct entry_command {
	char *text;
	size_t size;
	size_t count; /* of the arguments */
	bool is_cut;
};

struct entry {
	/* The ctime of the file in nanoseconds since the epoch, from record.c:
	 * the text of the entry could lie. */
	int64_t written_at;
	const char *id;
	const char *name; /* or NULL */
	const char *boot;
	const char *machine; /* or NULL */
	uint64_t pid_namespace;
	uint64_t time_namespace; /* or 0 */
	struct procid front;     /* or PID 0 */
	struct procid supervisor;
	struct procid target;
	bool has_session;      /* the supervisor leads the target's session */
	int64_t started;       /* as duration_now() */
	int64_t started_at;    /* as duration_since_epoch() */
	int64_t timeout;       /* or NEVER */
	int64_t kill_after;    /* or NEVER */
	const char *directory; /* or NULL */
	struct entry_locks locks;
	struct entry_cleanups cleanups;
	struct entry_command command;
};

/* Appends ENTRY to LINE as text, with the arguments of COMMAND, NULL-terminated
 * as in main(), in the place of entry->command: as many of them as the limits
 * above and LINE allow. Marks them as cut if some are missing, or if
 * entry->command.is_cut. Returns 0, or -1 with errno EMSGSIZE where the other
 * values do not fit into LINE. */
int entry_format(struct strbuf *line, const struct entry *entry,
                 char *const command[]);

/* Reads the LENGTH bytes of TEXT, which anybody may have written, into ENTRY.
 * TEXT has room for one more byte; the call changes TEXT, and ENTRY points into
 * TEXT. Returns 0, or -1 with errno: EINVAL where TEXT is no whole entry,
 * ENOTSUP where another version of the format wrote it. */
int entry_parse(char *text, size_t length, struct entry *entry);
