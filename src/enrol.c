/* The entry of a run that begins. */
#include "enrol.h"

#include <sys/utsname.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "message.h"
#include "registry.h"
#include "settle.h"

static bool
is_wanted(const struct run *run)
{
	return run->estate != NULL && run->estate->registry_fd != -1;
}

/* The front itself: the target might come to look when it is dead, and an entry
 * that does not know it would never be seen to be an orphan's. */
int
enrol_prepare(struct run *run)
{
	if (!is_wanted(run) ||
	    identity_read(run->front, &run->front_identity) == 0)
		return 0;
	message("cannot put the run on record: '%s': %s", "/proc/PID/stat",
	        strerror(errno));
	return -1;
}

static int
put_on_record(const struct run *run)
{
	const struct estate *const estate = run->estate;
	char boot[BOOT_ID_SIZE];
	struct utsname host;
	struct entry entry = {
		.id = runid_of(run->id),
		.name = run->options.name,
		.boot = boot,
		.host = uname(&host) == -1 ? NULL : host.nodename,
		/* In another PID namespace it has no number here. */
		.front = run->front > 0 ? run->front_identity
		                        : (struct identity){ .pid = 0 },
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

	if (identity_read(getppid(), &entry.supervisor) == -1 ||
	    identity_read(getpid(), &entry.target) == -1 ||
	    identity_boot(boot) == -1 ||
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
	if (!is_wanted(run) || put_on_record(run) == 0)
		return 0;
	message("cannot put the run on record: %s", strerror(errno));
	return -1;
}
