/* The locks, cleanups, registry entry and report of a run. */
#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "proc/signals.h"
#include "registry/registry.h"
#include "run/run.h"

#define LINE_SIZE 256

int
resources_prepare(struct run *run)
{
	static struct lock lock_list[FILES_MAX];
	static struct cleanup cleanup_list[FILES_MAX];
	const struct options *const options = &run->options;
	const struct files *const locks = &options->locks;
	const bool is_on_record = record_is_wanted(options);

	run->locks = lock_list;
	run->cleanups = cleanup_list;
	run->record = (struct record){ -1, -1 };
	run->facts->started_at = duration_of_clock(CLOCK_REALTIME);
	if (options->report != NULL &&
	    report_open(&run->report, options->report) == -1)
		return -1;
	for (size_t i = 0; i < locks->count; i++) {
		if (lock_open(&run->locks[i], locks->paths[i]) == -1) {
			message("--lock: '%s': %s", locks->paths[i],
			        lock_error(errno));
			return -1;
		}
	}
	run->facts->is_released =
	    locks->count == 0 && options->cleanups.count == 0 && !is_on_record;
	return is_on_record ? reap_before_run(options->registry, options->quiet)
	                    : 0;
}

/* Prints why there was no lock, by errno of lock_take_all(). */
static void
refuse_run(struct run *run, const struct lock *refused)
{
	char text[LINE_SIZE];
	struct strbuf holder = { .text = text, .size = sizeof(text) };

	if (errno == EWOULDBLOCK) {
		run->facts->is_locked_out = true;
		run->facts->outcome.value = run->options.lock_exit;
		if (run->options.quiet)
			return;
		lock_add_holder(refused, &holder);
		message("--lock: '%s' is held by %s", refused->path, text);
	} else if (errno == ECANCELED) {
		run->facts->reason = REASON_PARENT_LOST;
	} else {
		run->facts->exec_error = errno;
		message("--lock: '%s': %s", refused->path, lock_error(errno));
	}
}

int
resources_acquire(struct run *run)
{
	const struct options *const options = &run->options;
	struct lock *refused;

	if (run->facts->is_released)
		return 0;

	const struct lock_wait wait = {
		.deadline = duration_add(duration_now(), options->lock_wait),
		.parent_fd = run->parent_fd,
		.mask = run->target->callers_mask & ~SIGNALS_TERMINATING,
	};

	/* Before it waits for its locks: so --list shows the run, and --cancel
	 * ends the wait. Not earlier: who is refused makes no registry. */
	if (record_is_wanted(options) &&
	    record_begin(&run->record, options, run->facts->id,
	                 run->facts->started_at) == -1) {
		run->facts->exec_error = errno == 0 ? EPERM : errno;
		return -1;
	}
	if (lock_take_all(run->locks, options->locks.count, &wait, &refused) ==
	    -1) {
		refuse_run(run, refused);
		record_end(&run->record, run->facts->id);
		return -1;
	}
	for (size_t i = 0; i < options->locks.count; i++) {
		const struct lock *const lock = &run->locks[i];

		if (lock->last_owner != 0 && !options->quiet)
			message("--lock: took '%s' over from PID %d, which is "
			        "gone",
			        lock->path, lock->last_owner);
	}
	/* The run that held the locks before has now removed its files. */
	for (size_t i = 0; i < options->cleanups.count; i++)
		cleanup_begin(&run->cleanups[i], options->cleanups.paths[i]);
	return 0;
}

void
resources_keep(const struct run *run, int keep[])
{
	*keep++ = run->record.directory_fd;
	*keep++ = run->record.fd;
	*keep++ = run->report.stream_fd;
	*keep++ = run->report.directory_fd;
	for (size_t i = 0; i < run->options.locks.count; i++) {
		*keep++ = run->locks[i].file.fd;
		*keep++ = run->locks[i].file.directory_fd;
	}
	for (size_t i = 0; i < run->options.cleanups.count; i++)
		*keep++ = run->cleanups[i].claim_fd;
}

void
resources_release(struct run *run)
{
	/* In a file, these PIDs mean this run: the front may have been a shell
	 * before execve(2), and the supervisor is COMMAND's parent. */
	const pid_t watchers[2] = { run->watchers.front,
		                    run->watchers.supervisor };
	static const pid_t nobody[2];

	if (run->facts->is_released)
		return;
	for (size_t i = 0; i < run->options.cleanups.count; i++) {
		const struct cleanup *const cleanup = &run->cleanups[i];
		/* Survivors, let go or unkillable, may still hold this lock. */
		const int result =
		    cleanup_end(cleanup, watchers, run->facts->tree_is_empty);

		if (result == 1 && !run->options.quiet)
			message("--cleanup: removed '%s', which the command "
			        "left behind",
			        cleanup->path);
		else if (result == -1)
			message("--cleanup: cannot remove '%s': %s",
			        cleanup->path, lock_error(errno));
	}
	/* A run with processes left stays on record, for --reap. */
	if (nobody_is_left(run))
		record_end(&run->record, run->facts->id);
	/* Last: who waits for them finds the files of --cleanup removed. */
	for (size_t i = 0; i < run->options.locks.count; i++) {
		struct lock *const lock = &run->locks[i];

		/* Of a run with processes left, the file stays, too. */
		if (lock_release(lock,
		                 nobody_is_left(run) ? watchers : nobody) == -1)
			message("--lock: cannot remove '%s': %s", lock->path,
			        strerror(errno));
	}
	run->facts->is_released = true;
}
