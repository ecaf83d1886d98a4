/*
 * What is done when the processes of a run are dead. The supervisor notes in
 * shared memory what is left of the tree, and tells the outcome: from then on
 * the front can finish alone. Then the supervisor does the teardown, and the
 * front does it if the supervisor was killed before shared memory said that all
 * is done: each step may be done twice. These calls may hang in a file system;
 * the front kills a supervisor that does not end.
 *
 * Last, the front writes the report, of which all facts are known only now; or
 * the supervisor does, if the front is dead.
 */
#include "run/teardown.h"

#include <sys/prctl.h>

#include <errno.h>
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

#define REPORT_PATIENCE (5 * SECOND)

void
teardown_note_tree(const struct run *run)
{
	if (run->resources == NULL)
		return;
	run->resources->page->tree_is_empty = run->tree_is_empty;
	run->resources->page->nobody_is_left = state_nobody_left(run);
}

static void
clean_up(const struct run *run, const pid_t watchers[2])
{
	const struct resources *const resources = run->resources;

	for (size_t i = 0; i < resources->cleanup_count; i++) {
		const struct cleanup *const cleanup = &resources->cleanups[i];
		/* Survivors, let go or unkillable, may still hold this lock. */
		const int result = cleanup_end(cleanup, watchers,
		                               resources->page->tree_is_empty);

		if (result == 1 && !run->options.quiet)
			message("--cleanup: removed '%s', which the command "
			        "left behind",
			        cleanup->path);
		else if (result == -1)
			message("--cleanup: cannot remove '%s': %s",
			        cleanup->path, lock_error(errno));
	}
}

void
teardown(struct run *run)
{
	struct resources *const resources = run->resources;

	if (resources == NULL || resources->page->is_done)
		return;

	/* In a file, these PIDs mean this run. The front may have been a shell
	 * before execve(2); the supervisor is COMMAND's parent. */
	const pid_t watchers[2] = { resources->owner,
		                    run->watchers.supervisor };

	clean_up(run, watchers);
	/* A run with processes left stays on record, for --reap. */
	if (resources->page->nobody_is_left)
		resources_unregister(run);
	/* Last: who waits for them finds the command's own locks removed. */
	for (size_t i = 0; i < resources->lock_count; i++) {
		struct lock *const lock = &resources->locks[i];

		if (lock_release(lock, watchers) == -1)
			message("--lock: cannot remove '%s': %s", lock->path,
			        strerror(errno));
	}
	resources->page->is_done = true;
}

void
teardown_report(struct run *run, struct outcome outcome)
{
	if (run->report == NULL || run->resources->page->is_reported)
		return;
	run->report->outcome = outcome;

	const pid_t helper = helper_fork(SIGKILL);

	if (helper <= 0) {
		/* If the helper died with its watcher, an unfinished file would
		 * stay; if it was stopped, the helper would stay for ever. */
		if (helper == 0)
			(void)prctl(PR_SET_PDEATHSIG, SIGCONT);
		report_write(run);
		run->resources->page->is_reported = true;
	}
	if (helper == 0)
		_exit(0);
	if (!helper_await_until(helper,
	                        duration_add(duration_now(), REPORT_PATIENCE)))
		message("--report: '%s' could not be written in time",
		        run->options.report);
}
