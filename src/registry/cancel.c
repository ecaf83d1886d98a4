/* Stops one run that is on record, and no other. */
#include "registry/registry.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "proc/procfs.h"

#define AFTER_KILL (10 * SECOND)
#define PAUSE      (10 * MILLISECOND)
#define IDS_SIZE   512

/* Whether WHICH means the run at WALK: by its name, its ID, or the first part
 * of the ID, which --list shows: the PID of the front. */
static bool
is_meant(const struct registry_walk *walk, const char *which)
{
	const char *const name = walk->entry.name;
	const size_t length = strlen(which);

	return (name != NULL && strcmp(name, which) == 0) ||
	       (strncmp(walk->id, which, length) == 0 &&
	        strchr("-", walk->id[length]) != NULL); /* or the ID's end */
}

/* Waits until the run is over, or orphaned, or until DEADLINE. Returns whether
 * it is; then its front is dead. */
static bool
await_end(const struct registry_walk *walk, int64_t deadline)
{
	while (registry_is_held(walk) || procid_is_alive(&walk->entry.front)) {
		if (duration_now() >= deadline)
			return false;
		duration_sleep(PAUSE);
	}
	return true;
}

/* Goes to FILE of WALK, as it is now. Returns false where it is gone. */
static bool
go_to(struct registry_walk *walk, int file)
{
	walk->next = file;
	return registry_next(walk) && walk->next == file + 1;
}

/* Stops the run at WALK. Returns 0, or -1 after a message. */
static int
stop(struct registry_walk *walk, bool is_quiet)
{
	const struct procid *const front = &walk->entry.front;
	const int64_t grace = duration_add(
	    duration_add(duration_now(), AFTER_KILL), walk->entry.kill_after);

	if (walk->is_elsewhere && !walk->is_orphaned) {
		message("--cancel: run %s is in another PID namespace (a "
		        "container?): cancel it from within",
		        walk->id);
		return -1;
	}
	/* A stopped front takes the signal when it is continued. Where it is
	 * dead, the supervisor is ending the run already. */
	procid_kill(front, SIGTERM);
	procid_kill(front, SIGCONT);
	if (!await_end(walk, grace)) {
		procid_kill(front, SIGKILL);
		if (!await_end(walk, duration_now() + AFTER_KILL)) {
			message("--cancel: run %s survives SIGKILL", walk->id);
			return -1;
		}
	}
	/* If it is still there, the watchers were killed, or could not kill all
	 * of the run, of which the target may have put more on record. */
	return go_to(walk, walk->next - 1) ? reap_entry(walk, true, is_quiet)
	                                   : 0;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	char ids[IDS_SIZE];
	struct strbuf line = { .text = ids, .size = sizeof(ids) };
	struct registry_walk walk = { .count = 0 };
	const bool is_read = registry_begin(&walk, registry) == 0;
	int last = 0; /* the file of the last run that is meant */
	size_t count = 0;
	int status = STATUS_FAILED;

	while (is_read && registry_next(&walk)) {
		if (!is_meant(&walk, which))
			continue;
		strbuf_addf(&line, "%s%s", count++ == 0 ? "" : ", ", walk.id);
		last = walk.next - 1;
	}
	if (count > 1) {
		message("--cancel: '%s' means %zu runs, name one by its ID: %s",
		        which, count, ids);
	} else if (count == 1) {
		if (!go_to(&walk, last) || stop(&walk, is_quiet) == 0)
			status = EXIT_SUCCESS;
	} else if (is_read) {
		status = STATUS_NOT_HAD;
		if (!is_quiet)
			message("--cancel: nothing in flight: no run '%s' in "
			        "%s",
			        which, walk.path);
	}
	registry_end(&walk);
	return status;
}
