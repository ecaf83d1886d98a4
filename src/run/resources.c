/* The locks, cleanups, registry entry and report of a run. */
#include "run/resources.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/path.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "proc/cmdline.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "registry/entry.h"
#include "registry/host.h"
#include "registry/reap.h"
#include "registry/registry.h"
#include "run/run.h"

#define REGISTRY_PATIENCE (5 * SECOND)
#define COMMAND_WIDTH     72 /* of the process that holds a lock */

static bool
is_registered(const struct options *options)
{
	return options->name != NULL || options->registry != NULL ||
	       registry_is_wanted();
}

static struct resources *
make(void)
{
	struct resources *const resources = calloc(1, sizeof(*resources));
	struct teardown_page *const page = array_share(sizeof(*page));

	if (resources == NULL || page == NULL) {
		message("no memory for locks, registry or report: %s",
		        strerror(errno));
		return NULL;
	}
	/* Until a target is started: teardown_note_tree() comes later. */
	page->tree_is_empty = true;
	page->nobody_is_left = true;
	resources->page = page;
	resources->owner = getpid();
	resources->registry_fd = -1;
	resources->started_at = duration_since_epoch();
	resources->directory = getcwd(resources->path, sizeof(resources->path));
	return resources;
}

/* Prints why the file PATH of OPTION cannot be used, by errno. Returns -1. */
static int
refuse(const char *option, const char *path)
{
	message("--%s: '%s': %s", option, path, lock_error(errno));
	return -1;
}

/* The longest path first, so that a file comes before its directory. */
static int
compare_paths(const void *left, const void *right)
{
	const char *const a = *(const char *const *)left;
	const char *const b = *(const char *const *)right;
	const size_t longer = strlen(a);
	const size_t other = strlen(b);

	return longer == other ? strcmp(a, b)
	                       : (longer < other) - (longer > other);
}

/* Makes the paths of OPTION canonical, since the watchers leave the caller's
 * directory, and sorts them: then runs that want the same locks take them in
 * the same order. A path is left once. Returns 0, or -1 after a message. */
static int
resolve(const char *option, struct files *files, int flags)
{
	const char **const paths = files->paths;
	size_t count = 0;

	for (size_t i = 0; i < files->count; i++) {
		const char *const path = path_resolve(paths[i], flags);

		if (path == NULL)
			return refuse(option, paths[i]);
		paths[i] = path;
	}
	qsort(paths, files->count, sizeof(*paths), compare_paths);
	for (size_t i = 0; i < files->count; i++) {
		if (count == 0 || strcmp(paths[count - 1], paths[i]) != 0)
			paths[count++] = paths[i];
	}
	files->count = count;
	return 0;
}

static bool
is_lock(const struct files *locks, const char *path)
{
	for (size_t i = 0; i < locks->count; i++) {
		if (strcmp(locks->paths[i], path) == 0)
			return true;
	}
	return false;
}

/* Looks up the files of the options. Returns 0, or -1 after a message. */
static int
prepare_files(struct run *run)
{
	struct options *const options = &run->options;
	struct resources *const resources = run->resources;

	if (options->report != NULL) {
		run->report = &resources->page->report;
		run->report->started_at = resources->started_at;
		run->report->directory = resources->directory;
		if (report_open(run->report, options->report) == -1)
			return refuse("report", options->report);
		if (report_check(run->report) == -1)
			return -1;
	}
	if (resolve("lock", &options->locks, 0) == -1 ||
	    resolve("cleanup", &options->cleanups, PATH_MAY_MISS) == -1)
		return -1;
	for (; resources->lock_count < options->locks.count;
	     resources->lock_count++) {
		const size_t at = resources->lock_count;

		if (lock_open(&resources->locks[at],
		              options->locks.paths[at]) == -1)
			return refuse("lock", options->locks.paths[at]);
	}
	for (size_t i = 0; i < options->cleanups.count; i++) {
		const char *const path = options->cleanups.paths[i];

		if (!is_lock(&options->locks, path)) /* that goes anyway */
			resources->cleanups[resources->cleanup_count++] =
			    (struct cleanup){ .path = path, .claim_fd = -1 };
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
	/* A file system that hangs has to do so here, where a signal still ends
	 * this process, and not in resources_acquire(). */
	run->resources = make();
	if (run->resources == NULL || prepare_files(run) == -1)
		return -1;
	if (!is_registered(options))
		return 0;
	run->resources->registry_fd = registry_open(options->registry, true);
	if (run->resources->registry_fd == -1)
		return -1;
	/* Start times from another namespace's /proc are other processes':
	 * --reap would take the living run for an orphaned run. */
	if (procfs_is_ours() != 1) {
		message("no registry: no /proc of this PID namespace is "
		        "mounted, and --reap could not tell who is alive");
		return -1;
	}
	reap_before_run(run->resources->registry_fd, options->quiet);
	/* Read now: when the target writes the entry, the front may be dead,
	 * and --reap never finishes a run whose entry names no front. */
	if (procid_read(run->watchers.front, &run->watchers.front_procid) == -1)
		return refuse("registry", "/proc/self/stat");
	return 0;
}

static void
tell_holder(const struct run *run, const struct lock *lock)
{
	char text[COMMAND_WIDTH * 2];
	struct strbuf command = { .text = text, .size = sizeof(text) };

	if (run->options.quiet)
		return;
	if (lock->holder == 0) {
		message("--lock: '%s' is held by another process, or by a "
		        "descriptor that wdrun has inherited",
		        lock->path);
		return;
	}
	cmdline_add(&command, lock->holder, COMMAND_WIDTH);
	message("--lock: '%s' is held by PID %d (%s)", lock->path, lock->holder,
	        text);
}

static void
tell_taken_over(const struct run *run)
{
	for (size_t i = 0; i < run->resources->lock_count; i++) {
		const struct lock *const lock = &run->resources->locks[i];

		if (lock->last_owner == 0 || run->options.quiet)
			continue;
		message("--lock: took '%s' over from PID %d, which %s",
		        lock->path, lock->last_owner,
		        kill(lock->last_owner, 0) == -1 && errno == ESRCH
		            ? "is dead"
		            : "now belongs to another process");
	}
}

/* Notes why there was no lock, and prints it. Returns how wdrun ends. */
static struct outcome
refuse_run(struct run *run, enum lock_result result, const struct lock *refused,
           int signal)
{
	struct outcome outcome = { OUTCOME_EXIT, STATUS_FAILED };

	switch (result) {
	case LOCK_TAKEN:
	case LOCK_FREE:
		break;
	case LOCK_HELD:
		report_note_lockout(run);
		tell_holder(run, refused);
		outcome.value = run->options.lock_exit;
		break;
	case LOCK_SIGNALLED:
		run->stop = REASON_CANCELLED;
		outcome = (struct outcome){ OUTCOME_SIGNAL, signal };
		break;
	case LOCK_PARENT_LOST:
		run->stop = REASON_PARENT_LOST;
		break;
	case LOCK_FAILED:
		(void)refuse("lock", refused->path);
		break;
	}
	report_note_end(run);
	return outcome;
}

/* Puts RUN on record: called in the target; or, if IS_WAITING, in a helper of
 * the front, before there is a target. */
static int
write_entry(const struct run *run, bool is_waiting)
{
	const struct resources *const resources = run->resources;
	struct host host;
	struct entry entry = {
		.id = runid_of(run->id),
		.name = run->options.name,
		.boot = host.boot_id,
		/* A front in another PID namespace has no PID here. */
		.front = run->watchers.front > 0 ? run->watchers.front_procid
		                                 : (struct procid){ .pid = 0 },
		/* The target writes the entry of a run that has started: its
		 * parent, the supervisor, has to lead the session. */
		.has_session = !run->target.shares_group &&
		               (is_waiting || getsid(0) == getppid()),
		.started = duration_now(),
		.started_at = resources->started_at,
		.timeout = run->options.timeout,
		.kill_after = run->options.kill_after,
		.directory = resources->directory,
		.locks.count = resources->lock_count,
		.cleanups.count = resources->cleanup_count,
	};

	if (is_waiting) {
		entry.has_session = false;
		entry.timeout = run->options.lock_wait;
		entry.cleanups.count = 0; /* another run's, as yet */
	}
	if (procid_read(getppid(), &entry.supervisor) == -1 ||
	    procid_read(is_waiting ? getppid() : getpid(), &entry.target) ==
	        -1 ||
	    host_read(&host) != NULL)
		return -1;
	if (*host.machine_id != '\0')
		entry.machine = host.machine_id;
	entry.pid_namespace = host.pid_namespace;
	entry.time_namespace = host.time_namespace;
	for (size_t i = 0; i < entry.locks.count; i++)
		entry.locks.paths[i] = resources->locks[i].path;
	for (size_t i = 0; i < entry.cleanups.count; i++)
		entry.cleanups.files[i] = resources->cleanups[i];
	return registry_add(resources->registry_fd, &entry,
	                    run->options.command);
}

void
resources_unregister(const struct run *run)
{
	const int registry_fd = run->resources->registry_fd;

	if (registry_fd != -1 &&
	    registry_remove(registry_fd, runid_of(run->id)) == -1)
		message("the registry: cannot remove the entry of run %s: %s",
		        runid_of(run->id), strerror(errno));
}

/* Puts RUN on record as waiting for a lock, or takes it off again. By a helper,
 * as the file system may hang, and signals are blocked by now; without a helper
 * an entry is still removed, which would else stay. */
static void
note_waiting(const struct run *run, bool is_waiting)
{
	const pid_t helper =
	    run->resources->registry_fd == -1 ? -1 : helper_fork(SIGKILL);

	if (helper == 0 && is_waiting)
		(void)write_entry(run, true);
	else if (helper <= 0 && !is_waiting)
		resources_unregister(run);
	if (helper == 0)
		_exit(0);
	(void)helper_await_until(
	    helper, duration_add(duration_now(), REGISTRY_PATIENCE));
}

/* Takes the locks. A registered run that has to wait is on record meanwhile: so
 * --list shows it, and --cancel ends the wait. The target's entry replaces this
 * entry, or the teardown removes it. */
static enum lock_result
take_locks(struct run *run, struct lock_wait *wait, struct lock **refused)
{
	struct resources *const resources = run->resources;
	enum lock_result result = lock_take_all(
	    resources->locks, resources->lock_count, wait, refused);

	if (result != LOCK_HELD || run->options.lock_wait == 0)
		return result;
	wait->deadline = duration_add(duration_now(), run->options.lock_wait);
	note_waiting(run, true);
	result = lock_take_all(resources->locks, resources->lock_count, wait,
	                       refused);

	const int why = errno;

	if (result != LOCK_TAKEN)
		note_waiting(run, false);
	errno = why;
	return result;
}

int
resources_acquire(struct run *run, struct outcome *outcome)
{
	struct resources *const resources = run->resources;
	struct lock *refused = NULL;
	struct lock_wait wait = {
		.parent_fd = run->parent.fd,
		.callers_mask = run->target.callers_mask,
	};

	if (resources == NULL)
		return 0;

	const enum lock_result result = take_locks(run, &wait, &refused);

	if (result != LOCK_TAKEN) {
		*outcome = refuse_run(run, result, refused, wait.signal);
		return -1;
	}
	tell_taken_over(run);
	/* The run that held the locks before has now removed its files. */
	for (size_t i = 0; i < resources->cleanup_count; i++)
		cleanup_begin(&resources->cleanups[i]);
	return 0;
}

int
resources_register(const struct run *run)
{
	if (run->resources == NULL || run->resources->registry_fd == -1 ||
	    write_entry(run, false) == 0)
		return 0;
	message("cannot put the run on record: %s", strerror(errno));
	return -1;
}

void
resources_keep(const struct run *run, int keep[])
{
	const struct resources *const resources = run->resources;

	for (size_t i = 0; i < RESOURCE_FDS; i++)
		keep[i] = -1;
	if (resources == NULL)
		return;
	*keep++ = resources->registry_fd;
	if (run->report != NULL)
		*keep = run->report->stream_fd > 0 ? run->report->stream_fd
		                                   : run->report->directory_fd;
	keep++;
	for (size_t i = 0; i < resources->lock_count; i++) {
		*keep++ = resources->locks[i].fd;
		*keep++ = resources->locks[i].directory_fd;
	}
	for (size_t i = 0; i < resources->cleanup_count; i++)
		*keep++ = resources->cleanups[i].claim_fd;
}
