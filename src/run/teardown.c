/*
 * What is done when the processes of a run are dead: the teardown, and then the
 * report. Either watcher may get SIGKILL at any moment. A call on a file system
 * that does not answer hangs in the kernel, and its process may not even die of
 * SIGKILL. So the order is this:
 *
 * 1. The supervisor notes in shared memory what is left of the tree, and sends
 *    the outcome through the status pipe: the front can now end alone.
 * 2. The supervisor does the teardown, the locks last: the process that waits
 *    for them finds the command's own lock files removed. A helper makes the
 *    calls that may hang: a supervisor that hung itself, with its front killed
 *    by an impatient user, would keep the locks for ever. If the helper hangs,
 *    a second helper releases the locks, perhaps on another file system.
 * 3. The supervisor exits. If it was killed before shared memory said that the
 *    teardown is done, the front does all of the teardown in the same way.
 * 4. The front ends the relays, and has a helper write the report, of which all
 *    facts are known only now; or the supervisor does so, if the front is dead.
 */
#include "run/teardown.h"

#include <sys/prctl.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "lock/cleanup.h"
#include "lock/lock.h"
#include "proc/helper.h"
#include "run/decide.h"
#include "run/report.h"
#include "run/resources.h"
#include "run/run.h"

#define PATIENCE (5 * SECOND) /* for all TRIES */
#define TRIES    2

/* Forks a helper that does WORK. Returns its PID; or 0 if fork(2) failed and
 * this process has done WORK. */
static pid_t
delegate(struct run *run, void (*work)(struct run *run))
{
	const pid_t helper = helper_fork(SIGKILL);

	if (helper == 0) {
		work(run);
		_exit(0);
	}
	if (helper == -1) {
		work(run);
		return 0;
	}
	return helper;
}

/* Has a helper do WORK, which ends by setting *IS_DONE; if the helper is
 * killed, has a second helper do WORK. Returns false if a helper hangs. */
static bool
do_in_time(struct run *run, void (*work)(struct run *run),
           const _Atomic bool *is_done)
{
	const int64_t bound = duration_add(duration_now(), PATIENCE);

	for (int i = 0; i < TRIES && !*is_done; i++) {
		const pid_t helper = delegate(run, work);

		if (!helper_await_until(helper, bound))
			return false;
	}
	return true;
}

static void
clean_up(const struct run *run, const struct cleanup *cleanup)
{
	/* These PIDs in the file mean this run, too: the front may have been a
	 * shell before execve(2), the supervisor is COMMAND's parent. */
	const pid_t own[2] = { run->resources->owner,
		               run->watchers.supervisor };
	/* Survivors, let go or unkillable, may still hold this lock. */
	const int result =
	    cleanup_end(cleanup, own, run->resources->page->tree_is_empty);

	if (result == 1 && !run->options.quiet)
		message("--cleanup: removed '%s', which the command left "
		        "behind",
		        cleanup->path);
	else if (result == -1)
		message("--cleanup: cannot remove '%s': %s", cleanup->path,
		        lock_error(errno));
}

/* The PID in the locks is the front's; or, since the front is dead, the
 * supervisor's. */
static void
release_locks(struct run *run)
{
	struct resources *const resources = run->resources;
	const pid_t owners[2] = { resources->owner, run->watchers.supervisor };

	for (size_t i = 0; i < resources->lock_count; i++) {
		struct lock *const lock = &resources->locks[i];

		if (lock->fd != -1 && lock_release(lock, owners) == -1)
			message("--lock: cannot remove '%s': %s", lock->path,
			        strerror(errno));
	}
	resources->page->is_done = true;
}

static void
put_in_order(struct run *run)
{
	struct resources *const resources = run->resources;

	for (size_t i = 0; i < resources->cleanup_count; i++)
		clean_up(run, &resources->cleanups[i]);
	/* A run with processes left stays on record, for --reap. */
	if (resources->page->nobody_is_left)
		resources_unregister(run);
	release_locks(run);
}

static void
write_report(struct run *run)
{
	/* If the helper died with its watcher, an unfinished file would stay;
	 * if it was stopped, the helper would stay for ever. */
	(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
	report_write(run);
	run->resources->page->is_reported = true;
}

void
teardown_hand_over(const struct run *run)
{
	const struct resources *const resources = run->resources;

	for (size_t i = 0; resources != NULL && i < resources->lock_count; i++)
		lock_hand_over(&resources->locks[i], resources->owner,
		               run->watchers.supervisor);
}

void
teardown_note_tree(const struct run *run)
{
	if (run->resources == NULL)
		return;
	run->resources->page->tree_is_empty = run->tree_is_empty;
	run->resources->page->nobody_is_left = state_nobody_left(run);
}

void
teardown(struct run *run)
{
	const struct resources *const resources = run->resources;

	if (resources == NULL ||
	    do_in_time(run, put_in_order, &resources->page->is_done))
		return;
	message("a file system does not answer: files of --lock, --cleanup and "
	        "the registry may remain");
	(void)do_in_time(run, release_locks, &resources->page->is_done);
	resources->page->is_done = true; /* as far as it can be */
}

void
teardown_report(struct run *run, struct outcome outcome)
{
	if (run->report == NULL)
		return;
	run->report->outcome = outcome;
	if (!do_in_time(run, write_report, &run->resources->page->is_reported))
		message("--report: '%s' could not be written in time",
		        run->options.report);
}
