/* The locks of a run: all of them, or none. */
#include "locks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "fileinfo.h"
#include "lockfile.h"
#include "lockwait.h"
#include "message.h"
#include "procfs.h"
#include "report.h"
#include "settle.h"
#include "signals.h"

#define COMMAND_WIDTH 72

/* Tells why there is no lock to be had at PATH. */
static int
refuse(const char *path)
{
	switch (errno) {
	case EINVAL:
		message("--lock: '%s' is no lock file: what is in it is not a "
		        "PID",
		        path);
		break;
	case ELOOP:
		message("--lock: '%s' is a symbolic link", path);
		break;
	case EISDIR:
		message("--lock: '%s' is a directory", path);
		break;
	case ENOTSUP:
		message("--lock: '%s' is no regular file", path);
		break;
	case EUSERS:
		message("--lock: '%s' is another user's, in a sticky directory",
		        path);
		break;
	default:
		message("--lock: '%s': %s", path, strerror(errno));
		break;
	}
	return -1;
}

int
locks_check(const struct run *run)
{
	const struct files *const files = &run->options.locks;

	for (size_t i = 0; i < files->count; i++) {
		if (lockfile_check(files->paths[i]) == -1)
			return refuse(files->paths[i]);
	}
	return 0;
}

/* Whether LOCK, which is open, is a file that this run has locked by another
 * name. */
static bool
is_alias(const struct estate *estate, const struct lockfile *lock)
{
	struct fileinfo file;
	struct fileinfo other;

	if (lock->fd == -1 || fileinfo_of(lock->fd, &file) == -1)
		return false;
	for (size_t i = 0; i < estate->lock_count; i++) {
		const struct lockfile *const taken = &estate->locks[i];

		if (taken->is_taken && fileinfo_of(taken->fd, &other) == 0 &&
		    other.device == file.device && other.inode == file.inode)
			return true;
	}
	return false;
}

/* All but BUT, which stays open, if it is not NULL. */
static void
release_all(struct estate *estate, const struct lockfile *but)
{
	const pid_t owners[2] = { estate->owner, 0 };

	for (size_t i = 0; i < estate->lock_count; i++) {
		struct lockfile *const lock = &estate->locks[i];

		if (lock->is_taken && lockfile_release(lock, owners) == -1)
			(void)refuse(lock->path);
		/* The helper may have locked one that was waited for. */
		if (lock != but)
			lockfile_close(lock);
		lock->is_alias = false;
	}
}

/* Takes what is not taken yet. Returns NULL, or the lock that cannot be had,
 * with errno as of lockfile_take, none being taken then. */
static struct lockfile *
take_all(struct estate *estate)
{
	for (size_t i = 0; i < estate->lock_count; i++) {
		struct lockfile *const lock = &estate->locks[i];

		if (lock->is_taken || lock->is_alias ||
		    lockfile_take(lock) == 0)
			continue;

		const int why = errno;

		if (why == EWOULDBLOCK && is_alias(estate, lock)) {
			lock->is_alias = true;
			lockfile_close(lock);
			continue;
		}
		release_all(estate, lock);
		errno = why;
		return lock;
	}
	return NULL;
}

static void
tell_holder(const struct run *run, const struct lockfile *lock)
{
	char text[COMMAND_WIDTH * 2];
	struct line command = { .text = text, .size = sizeof(text) };

	if (run->options.quiet)
		return;
	/* A /proc of another PID namespace would name somebody else. */
	if (lock->holder == 0 || procfs_is_ours() != 1) {
		message("--lock: '%s' is held by another process", lock->path);
		return;
	}
	procfs_add_command(&command, lock->holder, COMMAND_WIDTH);
	message("--lock: '%s' is held by PID %d (%s)", lock->path, lock->holder,
	        text);
}

/* LOCK is not to be had. Returns the status for that. */
static int
lock_out(const struct run *run, const struct lockfile *lock)
{
	report_note_lockout(run);
	tell_holder(run, lock);
	return run->options.lock_exit;
}

/* Waits until LOCK may be free. Returns LOCKS_ARE_TAKEN where it may be, or the
 * status to end with. */
static int
wait_for(struct run *run, struct lockfile *lock, int64_t deadline)
{
	struct lockwait wait;
	enum lockwait_end end = LOCKWAIT_CHANGED;

	lockwait_begin(run, lock, &wait);
	/* What happened before that would not be told. */
	if (lockfile_take(lock) == -1 && errno == EWOULDBLOCK &&
	    lockwait_is_about(&wait, lock))
		end = lockwait_sleep(run, &wait, deadline);
	lockwait_end(run, &wait);

	switch (end) {
	case LOCKWAIT_CHANGED:
		return LOCKS_ARE_TAKEN;
	case LOCKWAIT_STOP:
		/* Who is stopped is not to have what the helper got. */
		lockfile_close(lock);
		signal_stop_by(wait.signal);
		return LOCKS_ARE_TAKEN;
	case LOCKWAIT_OVER:
		return lock_out(run, lock);
	case LOCKWAIT_SIGNAL:
		run->stop = REASON_CANCELLED;
		run->cancel_signal = wait.signal;
		return STATUS_SIGNAL_BASE + wait.signal;
	case LOCKWAIT_FAILED:
		message("--lock: cannot wait for '%s': %s", lock->path,
		        strerror(wait.why));
		return STATUS_FAILED;
	case LOCKWAIT_CALLER_LOST:
		run->stop = REASON_CALLER_LOST;
		return STATUS_FAILED;
	}
	return STATUS_FAILED;
}

static void
tell_taken_over(const struct run *run)
{
	for (size_t i = 0; i < run->estate->lock_count; i++) {
		const struct lockfile *const lock = &run->estate->locks[i];

		/* From before an exec it is our own. */
		if (lock->last_owner > 0 &&
		    lock->last_owner != run->estate->owner &&
		    !run->options.quiet)
			message("--lock: took '%s' over from PID %d, which %s",
			        lock->path, lock->last_owner,
			        lock->fate == LOCKOWNER_DEAD
			            ? "is dead"
			            : "started after the file was written");
	}
}

int
locks_take(struct run *run)
{
	const int64_t deadline =
	    duration_add(duration_now(), run->options.lock_wait);
	struct lockfile *held;

	while ((held = take_all(run->estate)) != NULL) {
		if (errno != EWOULDBLOCK) {
			(void)refuse(held->path);
			return STATUS_FAILED;
		}
		if (run->options.lock_wait == 0)
			return lock_out(run, held);

		const int status = wait_for(run, held, deadline);

		if (status != LOCKS_ARE_TAKEN) {
			release_all(run->estate, NULL);
			return status;
		}
	}
	tell_taken_over(run);
	return LOCKS_ARE_TAKEN;
}

void
locks_hand_over(struct run *run)
{
	for (size_t i = 0; i < run->estate->lock_count; i++) {
		if (run->estate->locks[i].is_taken)
			lockfile_hand_over(&run->estate->locks[i],
			                   run->estate->owner, run->supervisor);
	}
}

void
locks_release(struct run *run)
{
	const pid_t owners[2] = { run->estate->owner, run->supervisor };

	for (size_t i = 0; i < run->estate->lock_count; i++) {
		struct lockfile *const lock = &run->estate->locks[i];

		if (lock->is_taken && lockfile_release(lock, owners) == -1)
			message("--lock: cannot remove '%s': %s", lock->path,
			        strerror(errno));
	}
}
