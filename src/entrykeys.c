/* The keys of an entry: one table for writing and for reading. */
#include "entrykeys.h"

#include "entry.h"

#define AT(field) offsetof(struct entry, field)

const struct entry_key entry_keys[ENTRY_KEY_COUNT] = {
	{ "id", AT(id), KIND_TEXT, true },
	{ "name", AT(name), KIND_TEXT, false },
	{ "boot", AT(boot), KIND_TEXT, true },
	{ "host", AT(host), KIND_TEXT, false },
	{ "pidns", AT(pid_namespace), KIND_NUMBER, true },
	{ "timens", AT(time_namespace), KIND_NUMBER, false },
	{ "front", AT(front), KIND_IDENTITY, true },
	{ "supervisor", AT(supervisor), KIND_IDENTITY, true },
	{ "target", AT(target), KIND_IDENTITY, true },
	{ "session", AT(has_session), KIND_SESSION, true },
	{ "started", AT(started), KIND_TIME, true },
	{ "epoch", AT(started_at), KIND_TIME, true },
	{ "timeout", AT(timeout), KIND_DURATION, true },
	{ "kill-after", AT(kill_after), KIND_DURATION, true },
	{ "directory", AT(directory), KIND_TEXT, false },
	{ "lock", AT(locks), KIND_LOCK, false },
	{ "cleanup", AT(cleanups), KIND_CLEANUP, false },
	{ "arg", AT(command), KIND_ARGUMENT, true },
	{ "cut", AT(is_cut), KIND_CUT, false },
};
