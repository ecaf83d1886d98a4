/* What a run has besides processes: locks, cleanups, registry and report. */
#include "run/resources.h"

#include <sys/mman.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "proc/procfs.h"
#include "registry/entry.h"
#include "registry/host.h"
#include "registry/reap.h"
#include "registry/registry.h"
#include "run/run.h"

#define COMMAND_WIDTH 72 /* of the process that holds a lock */

/* Makes COUNT paths that are given to OPTION absolute, since the watchers leave
 * the caller's directory. No other option may name the file of --report: the
 * report would be removed with that file, or replace it. */
static int
resolve(const struct run *run, const char *option, const char *paths[],
        size_t count)
{
	const char *const *const report = &run->options.report;

	for (size_t i = 0; i < count; i++) {
		const char *const path =
		    fileinfo_absolute_path(run->resources->directory, paths[i]);

		if (path == NULL) {
			message("--%s: '%s': the working directory is not "
			        "known: %s",
			        option, paths[i], strerror(errno));
			return -1;
		}
		if (paths != report && *report != NULL &&
		    strcmp(path, *report) == 0) {
			message("--%s: '%s' is the file of --report", option,
			        path);
			return -1;
		}
		paths[i] = path;
	}
	return 0;
}

static int
resolve_all(struct run *run)
{
	struct options *const options = &run->options;
	/* Only compared: --tee is opened before the watchers go elsewhere. */
	const char *tee = options->tee;

	if (resolve(run, "report", &options->report, options->report != NULL) ==
	        -1 ||
	    resolve(run, "lock", options->locks.paths, options->locks.count) ==
	        -1 ||
	    resolve(run, "cleanup", options->cleanups.paths,
	            options->cleanups.count) == -1)
		return -1;
	return resolve(run, "tee", &tee,
	               tee != NULL && options->report != NULL);
}

static bool
is_registered(const struct options *options)
{
	return options->name != NULL || options->registry != NULL ||
	       registry_is_wanted();
}

static struct resources *
make(const struct options *options)
{
	/* Not static: the pages of .bss that each run writes would be more. */
	struct resources *const resources =
	    array_resize(NULL, 0, sizeof(*resources));
	struct teardown_page *const page =
	    mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
	         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (resources == NULL || page == MAP_FAILED) {
		message("no memory for locks, registry or report: %s",
		        strerror(errno));
		return NULL;
	}
	resources->page = page;
	resources->registry_fd = -1;
	resources->started_at = duration_since_epoch();
	/* NULL, with errno, where that is not known. */
	resources->directory = getcwd(resources->path, sizeof(resources->path));
	resources->lockset.locks = resources->locks;
	resources->lockset.count = options->locks.count;
	for (size_t i = 0; i < FILES_MAX; i++) {
		resources->locks[i].fd = -1;
		resources->cleanups[i].claim_fd = -1;
	}
	return resources;
}

static int
prepare_report(struct run *run)
{
	if (run->options.report == NULL)
		return 0;
	if (report_check(run->options.report) == -1)
		return -1;
	run->report = &run->resources->page->report;
	run->report->started_at = run->resources->started_at;
	run->report->directory = run->resources->directory;
	return 0;
}

/* Tells why there can be no lock at PATH, by errno. */
static int
refuse_lock(const char *path)
{
	message("--lock: '%s': %s", path, lockfile_refusal(errno));
	return -1;
}

static int
prepare_locks(struct run *run)
{
	const struct files *const files = &run->options.locks;

	for (size_t i = 0; i < files->count; i++) {
		if (lockfile_check(files->paths[i]) == -1)
			return refuse_lock(files->paths[i]);
		run->resources->locks[i].path = files->paths[i];
	}
	return 0;
}

int
resources_prepare(struct run *run)
{
	struct options *const options = &run->options;

	if (options->locks.count == 0 && options->cleanups.count == 0 &&
	    options->report == NULL && !is_registered(options))
		return 0;
	run->resources = make(options);
	if (run->resources == NULL || resolve_all(run) == -1 ||
	    prepare_report(run) == -1 || prepare_locks(run) == -1)
		return -1;
	/* A file system that hangs is to hang here, where signals still end
	 * this process, and not in resources_acquire(). */
	for (size_t i = 0; i < options->cleanups.count; i++)
		cleanup_probe(options->cleanups.paths[i]);
	if (!is_registered(options))
		return 0;
	run->resources->registry_fd = registry_open(options->registry, true);
	if (run->resources->registry_fd == -1)
		return -1;
	reap_before_run(run->resources->registry_fd, options->quiet);
	/* Read here, as the front may be dead when the target writes the entry,
	 * and --reap never finishes a run whose entry names no front. */
	if (procid_read(run->watchers.front, &run->watchers.front_procid) == 0)
		return 0;
	message("cannot put the run on record: '/proc/%d/stat': %s",
	        run->watchers.front, strerror(errno));
	return -1;
}

static void
tell_holder(const struct run *run, const struct lockfile *lock)
{
	char text[COMMAND_WIDTH * 2];
	struct strbuf command = { .text = text, .size = sizeof(text) };

	if (run->options.quiet)
		return;
	/* A /proc of another PID namespace would name another process. */
	if (lock->holder == 0 || procfs_is_ours() != 1) {
		message("--lock: '%s' is held by another process", lock->path);
		return;
	}
	procfs_add_command(&command, lock->holder, COMMAND_WIDTH);
	message("--lock: '%s' is held by PID %d (%s)", lock->path, lock->holder,
	        text);
}

static void
tell_taken_over(const struct lockset *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct lockfile *const lock = &set->locks[i];

		/* A lock that names this process is from before an exec. */
		if (lock->last_owner > 0 && lock->last_owner != set->owner)
			message("--lock: took '%s' over from PID %d, which %s",
			        lock->path, lock->last_owner,
			        lock->last_owner_state == OWNER_DEAD
			            ? "is dead"
			            : "now belongs to another process");
	}
}

/* Notes why there was no lock, and tells it. Returns how wdrun is to end. */
static struct outcome
refuse_run(struct run *run, enum lock_result result)
{
	const struct lockset *const set = &run->resources->lockset;
	struct outcome outcome = { OUTCOME_EXIT, STATUS_FAILED };

	switch (result) {
	case LOCK_TAKEN:
	case LOCK_FREE:
		break;
	case LOCK_HELD:
		report_note_lockout(run);
		tell_holder(run, set->refused);
		outcome.value = run->options.lock_exit;
		break;
	case LOCK_SIGNALLED:
		run->stop = REASON_CANCELLED;
		outcome = (struct outcome){ OUTCOME_SIGNAL, set->signal };
		break;
	case LOCK_PARENT_LOST:
		run->stop = REASON_PARENT_LOST;
		break;
	case LOCK_FAILED:
		(void)refuse_lock(set->refused->path);
		break;
	case LOCK_CANNOT_WAIT:
		message("--lock: cannot wait for '%s': %s", set->refused->path,
		        strerror(errno));
		break;
	}
	report_note_end(run);
	return outcome;
}

int
resources_acquire(struct run *run, struct outcome *outcome)
{
	const struct files *const files = &run->options.cleanups;
	struct resources *const resources = run->resources;

	if (resources == NULL)
		return 0;
	resources->lockset.owner = getpid();

	const enum lock_result result =
	    lockset_take(&resources->lockset,
	                 duration_add(duration_now(), run->options.lock_wait),
	                 run->parent.fd);

	if (result != LOCK_TAKEN) {
		*outcome = refuse_run(run, result);
		return -1;
	}
	if (!run->options.quiet)
		tell_taken_over(&resources->lockset);
	/* The run that held the locks before has removed its files by now. */
	for (size_t i = 0; i < files->count; i++) {
		resources->cleanups[i].path = files->paths[i];
		resources->cleanups[i].watchers[0] = getpid();
		cleanup_begin(&resources->cleanups[i]);
	}
	resources->cleanup_count = files->count;
	return 0;
}

static int
write_entry(const struct run *run)
{
	const struct resources *const resources = run->resources;
	struct host host;
	struct entry entry = {
		.id = runid_of(run->id),
		.name = run->options.name,
		.boot = host.boot_id,
		.host = host.name,
		/* A front in another PID namespace has no PID here. */
		.front = run->watchers.front > 0 ? run->watchers.front_procid
		                                 : (struct procid){ .pid = 0 },
		.has_session = !run->target.shares_group,
		.started = duration_now(),
		.started_at = resources->started_at,
		.timeout = run->options.timeout,
		.kill_after = run->options.kill_after,
		.directory = resources->directory,
		.locks.count = resources->lockset.count,
		.cleanups.count = resources->cleanup_count,
	};

	if (procid_read(getppid(), &entry.supervisor) == -1 ||
	    procid_read(getpid(), &entry.target) == -1 ||
	    host_read(&host) != NULL)
		return -1;
	entry.pid_namespace = host.pid_namespace;
	entry.time_namespace = host.time_namespace;
	for (size_t i = 0; i < entry.locks.count; i++)
		entry.locks.paths[i] = resources->locks[i].path;
	for (size_t i = 0; i < entry.cleanups.count; i++)
		entry.cleanups.files[i] = resources->cleanups[i];
	return registry_add(resources->registry_fd, &entry,
	                    run->options.command);
}

int
resources_register(const struct run *run)
{
	if (run->resources == NULL || run->resources->registry_fd == -1 ||
	    write_entry(run) == 0)
		return 0;
	message("cannot put the run on record: %s", strerror(errno));
	return -1;
}

void
resources_keep(const struct run *run, int keep[])
{
	const struct resources *const resources = run->resources;

	keep[0] = resources == NULL ? -1 : resources->registry_fd;
	for (size_t i = 0; i < FILES_MAX; i++) {
		keep[1 + i] = resources == NULL ? -1 : resources->locks[i].fd;
		keep[1 + FILES_MAX + i] =
		    resources == NULL ? -1 : resources->cleanups[i].claim_fd;
	}
}

void
resources_close(const struct run *run)
{
	int fds[RESOURCE_FDS];

	resources_keep(run, fds);
	for (size_t i = 0; i < RESOURCE_FDS; i++)
		fds_close(fds[i]);
}
