/* Stops one run that is on record, and no other. */
#include "registry/commands.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "proc/procstat.h"
#include "registry/registry.h"

#define AFTER_KILL (10 * SECOND)
#define PAUSE      (10 * MILLISECOND)
#define IDS_SIZE   512

/* Whether WHICH means the run at WALK: by its ID, its name, or the first part
 * of the ID, which --list shows: the PID of the front. */
static bool
is_meant(const struct registry_walk *walk, const char *which)
{
	const char *const name = walk->entry.name;
	const size_t length = strlen(which);

	if (walk->state > RUN_ELSEWHERE)
		return false;
	return strcmp(walk->id, which) == 0 ||
	       (name != NULL && strcmp(name, which) == 0) ||
	       (strncmp(walk->id, which, length) == 0 &&
	        walk->id[length] == '-' && strchr(which, '-') == NULL);
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

/* Sends SIGNAL to the front. Where that is dead, the supervisor is ending the
 * run already. Returns false after a message. */
static bool
signal_front(const struct registry_walk *walk, int signal)
{
	if (procid_kill(&walk->entry.front, signal) == 0 || errno == ESRCH)
		return true;
	message("--cancel: cannot signal run %s: %s", walk->id,
	        strerror(errno));
	return false;
}

/* Stops the run at WALK. Returns the exit status. */
static int
stop(struct registry_walk *walk, bool is_quiet)
{
	const int64_t grace = duration_add(
	    duration_add(duration_now(), AFTER_KILL), walk->entry.kill_after);

	if (walk->state == RUN_ELSEWHERE) {
		message("--cancel: run %s is in another PID namespace (a "
		        "container?): cancel it from within",
		        walk->id);
		return STATUS_FAILED;
	}
	/* A stopped front takes the signal when it is continued. */
	if (!signal_front(walk, SIGTERM) || !signal_front(walk, SIGCONT))
		return STATUS_FAILED;
	if (!await_end(walk, grace)) {
		if (!signal_front(walk, SIGKILL))
			return STATUS_FAILED;
		if (!await_end(walk, duration_now() + AFTER_KILL)) {
			message("--cancel: run %s survives SIGKILL", walk->id);
			return STATUS_FAILED;
		}
	}
	if (registry_is_gone(walk))
		return EXIT_SUCCESS;
	/* The watchers were killed, or could not kill all of the run. */
	walk->next--;
	return !registry_next(walk) || reap_entry(walk, is_quiet) == 0
	           ? EXIT_SUCCESS
	           : STATUS_FAILED;
}

/* Stops the run in DIRECTORY_FD that WHICH means. Returns the exit status. */
static int
cancel_in(int directory_fd, const char *which, bool is_quiet)
{
	char ids[IDS_SIZE];
	struct strbuf line = { .text = ids, .size = sizeof(ids) };
	struct registry_walk walk = { .directory_fd = directory_fd };
	int meant = 0; /* the number of the last file that is meant */
	size_t count = 0;
	int status = STATUS_FAILED;

	if (registry_begin(&walk, directory_fd) == 0) {
		while (registry_next(&walk)) {
			if (!is_meant(&walk, which))
				continue;
			meant = walk.next - 1;
			strbuf_addf(&line, "%s%s", count++ == 0 ? "" : ", ",
			            walk.id);
		}
		walk.next = meant;
		if (count > 1)
			message("--cancel: '%s' means %zu runs, name one by "
			        "its ID: %s",
			        which, count, ids);
		else if (count == 0)
			status = STATUS_NOT_HAD;
		else if (!registry_next(&walk) || !is_meant(&walk, which))
			status = EXIT_SUCCESS; /* it has just ended */
		else
			status = stop(&walk, is_quiet);
	}
	registry_end(&walk);
	return status;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	char path[PATH_MAX];
	struct strbuf directory = { .text = path, .size = sizeof(path) };
	const int directory_fd = registry_open(registry, false);
	char host[REGISTRY_HOST_SIZE];
	int status = STATUS_NOT_HAD;

	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd != -1) {
		status = registry_read_host(host, false) == -1
		             ? STATUS_FAILED
		             : cancel_in(directory_fd, which, is_quiet);
		(void)close(directory_fd);
	}
	if (status == STATUS_NOT_HAD && !is_quiet &&
	    registry_find(&directory, registry) == 0)
		message("--cancel: nothing in flight: no run '%s' in %s", which,
		        path);
	return status;
}
