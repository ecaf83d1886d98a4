/* The entry of a run that begins. */
#include "enrol.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "message.h"
#include "registry.h"
#include "settle.h"

/* Who is who. A front in another PID namespace has no number here; one that is
 * dead has been seen to be so by the supervisor. */
static int
identify(const struct run *run, struct entry *entry)
{
	if (run->front > 0)
		(void)identity_read(run->front, &entry->front);
	return identity_read(getppid(), &entry->supervisor) == -1 ||
	               identity_read(getpid(), &entry->target) == -1
	           ? -1
	           : 0;
}

static int
put_on_record(const struct run *run)
{
	const struct estate *const estate = run->estate;
	char boot[BOOT_ID_SIZE];
	struct entry entry = {
		.id = runid_of(run->id),
		.name = run->options.name,
		.boot = boot,
		.time_namespace = identity_time_namespace(),
		.has_session = !run->shares_group,
		.started = duration_now(),
		.started_at = estate->started_at,
		.timeout = run->options.timeout,
		.kill_after = run->options.kill_after,
		.directory = estate->directory,
		.lock_count = estate->lock_count,
		.cleanup_count = estate->cleanup_count,
	};

	if (identify(run, &entry) == -1 || identity_boot(boot) == -1 ||
	    identity_namespace(&entry.pid_namespace) == -1)
		return -1;
	for (size_t i = 0; i < entry.lock_count; i++)
		entry.locks[i] = estate->locks[i].path;
	for (size_t i = 0; i < entry.cleanup_count; i++)
		entry.cleanups[i] =
		    (struct entry_cleanup){ estate->cleanups[i].path,
			                    estate->cleanups[i].before };
	return registry_add(estate->registry_fd, &entry, run->options.command);
}

int
enrol(const struct run *run)
{
	if (run->estate == NULL || run->estate->registry_fd == -1 ||
	    put_on_record(run) == 0)
		return 0;
	message("cannot put the run on record: %s", strerror(errno));
	return -1;
}
