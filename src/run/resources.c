/* The locks, cleanups, registry entry and report of a run. */
#include <errno.h>
#include <string.h>

#include "base/message.h"
#include "base/text.h"
#include "proc/signals.h"
#include "registry/registry.h"
#include "run/run.h"

int
resources_prepare(struct run *run)
{
	const struct options *const options = run->options;
	const struct files *const locks = &options->locks;
	const bool is_on_record = record_is_wanted(options);

	run->record = (struct record){ -1, -1 };
	for (size_t i = 0; i < locks->count; i++) {
		if (lock_open(&run->locks[i], locks->paths[i]) == -1) {
			message("--lock: '%s': %s", locks->paths[i],
			        strerror(errno));
			return -1;
		}
	}
	run->facts->is_released =
	    locks->count == 0 && options->cleanups.count == 0 && !is_on_record;
	if (is_on_record &&
	    reap_orphans(options->registry, options->quiet, false) != 0)
		return -1;
	return 0;
}

/* Prints why there was no lock. */
static void
refuse_run(struct run *run, const struct lock *refused, enum refusal why)
{
	struct strbuf text = { .grows = true };

	if (why == REFUSAL_HELD) {
		run->facts->is_locked_out = true;
		run->facts->outcome.value = run->options->lock_exit;
		strbuf_addf(&text, "'%s' is held by ", refused->path);
		lock_add_holder(refused, &text);
		run->facts->refusal = text.text;
		if (!run->options->quiet)
			message("--lock: %s", text.text);
	} else if (why == REFUSAL_PARENT_DIED) {
		run->facts->reason = REASON_PARENT_LOST;
	} else if (why == REFUSAL_READER_GONE) {
		run->facts->reason = REASON_READER_LOST;
	} else {
		message("--lock: '%s': %s", refused->path, refusal_words(why));
		run->facts->refusal = message_last;
	}
}

int
resources_acquire(struct run *run)
{
	const struct options *const options = run->options;
	struct lock *refused = NULL;

	if (run->facts->is_released)
		return 0;

	const struct lock_wait wait = {
		.deadline = duration_add(duration_now(), options->lock_wait),
		.parent_fd = run->parent_fd,
		.reader_fd = run->reader_fd,
		.mask = run->callers_mask & ~SIGNALS_TERMINATING,
	};

	/* Before the wait for locks, so that --list and --cancel find the run.
	 * Not earlier: a refused run makes no registry. */
	if (record_begin(&run->record, options, run->facts->id,
	                 run->facts->started_at) == -1) {
		run->facts->refusal = message_last;
		return -1;
	}
	/* A caller that has just died has no pidfd. */
	const enum refusal why =
	    options->die_with_parent && run->parent_fd == -1
	        ? REFUSAL_PARENT_DIED
	        : lock_take_all(run->locks, options->locks.count, &wait,
	                        &refused);

	if (why != REFUSAL_NONE) {
		refuse_run(run, refused, why);
		(void)record_end(&run->record, run->facts->id);
		return -1;
	}
	for (size_t i = 0; i < options->locks.count; i++) {
		const struct lock *const lock = &run->locks[i];

		if (lock->last_owner != 0 && !options->quiet)
			message("--lock: took '%s' over from PID %d, which no "
			        "longer holds it",
			        lock->path, lock->last_owner);
	}
	/* The run that held the locks before has now removed its files. */
	for (size_t i = 0; i < options->cleanups.count; i++)
		cleanup_begin(&run->cleanups[i], options->cleanups.paths[i]);
	return 0;
}

void
resources_release(struct run *run)
{
	/* In a file, these PIDs mean this run: the front may have been a shell
	 * before execve(2), and the supervisor is COMMAND's parent. */
	const pid_t watchers[2] = { run->front, run->supervisor };
	static const pid_t nobody[2];

	if (run->facts->is_released)
		return;
	for (size_t i = 0; i < run->options->cleanups.count; i++) {
		const struct cleanup *const cleanup = &run->cleanups[i];
		/* Survivors, let go or unkillable, may still hold this lock. */
		const enum refusal why =
		    cleanup_end(cleanup, watchers, run->facts->tree_is_empty);

		if (why == REFUSAL_NONE && !run->options->quiet)
			message("--cleanup: removed '%s', which was left "
			        "behind",
			        cleanup->path);
		else if (why != REFUSAL_NONE && why != REFUSAL_UNTOLD)
			message("--cleanup: cannot remove '%s': %s",
			        cleanup->path, refusal_words(why));
	}
	/* A run with processes left stays on record, for --reap. */
	if (nobody_is_awaited(run))
		(void)record_end(&run->record, run->facts->id);
	/* Last: who waits for them finds the files of --cleanup removed. */
	for (size_t i = 0; i < run->options->locks.count; i++) {
		struct lock *const lock = &run->locks[i];

		/* Of a run with processes left, the file stays, too. */
		if (lock_release(lock, nobody_is_awaited(run) ? watchers
		                                              : nobody) == -1)
			message("--lock: cannot remove '%s': %s", lock->path,
			        strerror(errno));
	}
	run->facts->is_released = true;
}
