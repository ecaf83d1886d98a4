/* Finishes runs whose watchers both died before the teardown. */
#include "registry/reap.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/fds.h"
#include "base/fileinfo.h"
#include "base/message.h"
#include "base/path.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "lock/cleanup.h"
#include "lock/lock.h"
#include "proc/helper.h"
#include "proc/signals.h"
#include "registry/orphans.h"

#define LINE_SIZE 4000

/* How long the helper that finishes a run may take: orphans_end() takes up to
 * 13 seconds, and so may another wdrun that finishes the same run meanwhile. */
#define BOUND_REQUESTED (20 * SECOND)
#define BOUND           (10 * SECOND) /* for all runs, before a run starts */
#define BOUND_OLD       (2 * SECOND)  /* a run of an earlier boot: files only */

#define RIVAL_BOUND    (10 * SECOND)
#define RIVAL_PAUSE_MS 50

struct reap {
	bool is_quiet;
	bool is_requested; /* by --reap or --cancel: reports a run that cannot
	                    * be finished, and waits for another wdrun */
	int64_t deadline;
};

/* --- the files of a run --------------------------------------------------- */

/* Appends what came of removing PATH: RESULT and errno are of cleanup_end(). */
static void
add_removal(struct strbuf *line, const char *path, int result)
{
	if (result == 1)
		strbuf_addf(line, "; removed '%s'", path);
	else if (result == -1 && errno != ENOENT && errno != ENOTDIR &&
	         errno != ENODATA)
		strbuf_addf(line, "; cannot remove '%s': %s", path,
		            lock_error(errno));
}

static const pid_t nobody[2];

/* Removes the lock file PATH, if the process whose PID it has is dead: a
 * watcher of the run, or of another that is over, too. */
static void
remove_lock(struct strbuf *line, const char *path)
{
	const struct cleanup lock = { path, CLEANUP_UNKNOWN, -1 };

	add_removal(line, path, cleanup_end(&lock, nobody, false));
}

/*
 * Removes a --cleanup file of RECORD, if the file is no older than the file of
 * the entry: the text of the entry could lie. After a boot, the file has to be
 * older than the boot.
 *
 * No watcher saw the end of the run, so another process may have made a file
 * without a PID since. If such a file has content, it is removed only if
 * processes of the run were KILLED just now, or the run began before the boot.
 * An empty file is no loss.
 */
static void
clean_up(struct strbuf *line, const struct record *record,
         struct cleanup *cleanup, size_t killed)
{
	const char *const path = cleanup->path;
	const bool is_old = record->state == RECORD_OLD;
	struct fileinfo file;
	char name[PATH_MAX];
	const int directory_fd = path_open(path, PATH_NO_LINKS, name);
	int result =
	    directory_fd == -1 ? -1 : fileinfo_at(directory_fd, name, &file);
	if (result == 0) {
		const int64_t made_at =
		    file.id.birth != 0 ? file.id.birth : file.modified;
		const bool is_recent =
		    made_at >= record->entry.written_at - SECOND &&
		    (!is_old || host_is_before_boot(&file));
		const bool is_certain = is_old || !S_ISREG(file.mode) ||
		                        file.size == 0 || killed > 0;

		if (is_recent)
			result = cleanup_end(cleanup, nobody, is_certain);
		if (result == 0 && !(is_recent && is_certain) &&
		    file.id.birth != cleanup->before)
			strbuf_addf(
			    line,
			    "; left '%s', which another process may have made",
			    path);
	}
	add_removal(line, path, result);
	fds_close(directory_fd);
}

static void
remove_files(struct strbuf *line, struct record *record, size_t killed)
{
	const struct entry_locks *const locks = &record->entry.locks;
	struct entry_cleanups *const cleanups = &record->entry.cleanups;

	for (size_t i = 0; i < locks->count; i++)
		remove_lock(line, locks->paths[i]);
	for (size_t i = 0; i < cleanups->count; i++)
		clean_up(line, record, &cleanups->files[i], killed);
}

/* --- one run -------------------------------------------------------------- */

/* Locks the open file of RECORD by flock(2), so that no other wdrun finishes
 * the run at the same time. Returns false if another wdrun keeps the lock.
 * Where the file system has no such locks, two processes may finish the run at
 * once: each signal is still verified. */
static bool
lock_record(const struct record *record, const struct reap *reap)
{
	const int64_t deadline = duration_now() + RIVAL_BOUND;

	while (flock(record->fd, LOCK_EX | LOCK_NB) == -1 &&
	       errno == EWOULDBLOCK) {
		if (!reap->is_requested || duration_now() >= deadline)
			return false;
		(void)poll(NULL, 0, RIVAL_PAUSE_MS);
	}
	return true;
}

/* Kills the processes of ENTRY's run. Returns 0, or -1 where processes are left
 * or cannot be seen; LINE says which. */
static int
end_processes(const struct entry *entry, struct orphans *orphans,
              struct strbuf *line)
{
	if (procid_state_of(&entry->front) != PROCID_DEAD ||
	    procid_state_of(&entry->supervisor) != PROCID_DEAD) {
		strbuf_addf(line,
		            ": /proc does not show whether the front %d "
		            "and the supervisor %d are dead",
		            entry->front.pid, entry->supervisor.pid);
		return -1;
	}
	if (orphans_end(entry, orphans) == -1) {
		strbuf_addf(line, ": cannot read the processes in /proc: %s",
		            strerror(errno));
		return -1;
	}
	if (orphans->killed > 0)
		strbuf_addf(line, ": killed %zu process%s: %s", orphans->killed,
		            orphans->killed == 1 ? "" : "es",
		            orphans->killed_text);
	else
		strbuf_addf(line, ": found no process to kill");
	if (orphans->left == 0)
		return 0;
	strbuf_addf(line, "; the run stays on record because of %s",
	            orphans->left_text);
	return -1;
}

/* Kills the processes of RECORD's run, removes its files and its entry. May
 * hang. Returns 0, or -1 where the run stays on record; LINE says what was
 * done, and what prevented the rest. */
static int
end_run(struct record *record, struct orphans *orphans, struct strbuf *line)
{
	const struct entry *const entry = &record->entry;

	if (record->state == RECORD_OLD)
		strbuf_addf(line, ": began before the last boot");
	else if (end_processes(entry, orphans, line) == -1)
		return -1;
	remove_files(line, record, orphans->killed);
	/* Last: if SIGKILL comes before, all can be done again. */
	if (registry_remove(record->directory_fd, entry->id) == 0)
		return 0;
	strbuf_addf(line, "; cannot remove '%s' from the registry: %s",
	            record->file, strerror(errno));
	return -1;
}

/* Finishes the run of RECORD, and prints that. May hang. Returns 0 when the run
 * is off the record, else -1. */
static int
finish(struct record *record, const struct reap *reap, struct orphans *orphans)
{
	char text[LINE_SIZE];
	struct strbuf line = { .text = text, .size = sizeof(text) };
	int result = -1;

	strbuf_addf(&line, "run %s", record->entry.id);
	if (record->entry.name != NULL)
		strbuf_addf(&line, " (%s)", record->entry.name);
	if (!lock_record(record, reap)) {
		strbuf_addf(&line, ": another wdrun is finishing this run");
	} else {
		/* Another wdrun may have finished the run meanwhile. */
		const int is_there = record_has_name(record);

		if (is_there == 0)
			return 0;
		if (is_there == 1)
			result = end_run(record, orphans, &line);
		else
			strbuf_addf(&line, ": cannot look at its entry: %s",
			            strerror(errno));
	}

	/* Before a run starts, a message tells only what was done. */
	const bool has_done = result == 0 || orphans->killed > 0;

	if ((has_done && !reap->is_quiet) ||
	    (result == -1 && reap->is_requested))
		message("%s", text);
	return result;
}

/* --- by a helper, which may hang ------------------------------------------ */

/* What a helper and its parent share. */
struct work {
	int result; /* of finish(), -1 before its end */
	struct orphans orphans;
};

/* The time when the helper for RECORD is killed. */
static int64_t
find_deadline(const struct record *record, const struct reap *reap)
{
	const bool is_short =
	    record->state == RECORD_OLD && !reap->is_requested;
	const int64_t deadline =
	    duration_now() + (is_short ? BOUND_OLD : BOUND_REQUESTED);

	return deadline < reap->deadline ? deadline : reap->deadline;
}

/* Finishes the run of RECORD by a helper. A read of a process's environment may
 * wait for its mmap_lock for ever, and so may an access to a file on a file
 * system that hangs. This process waits for neither: a run may be about to
 * start. Returns as finish(). */
static int
finish_by_helper(struct record *record, const struct reap *reap)
{
	struct work *const work = array_share(sizeof(*work));

	if (work == NULL) {
		if (reap->is_requested)
			message("run %s: no memory to finish it: %s",
			        record->entry.id, strerror(errno));
		return -1;
	}
	work->result = -1;

	const int64_t deadline = find_deadline(record, reap);
	uint64_t callers_mask;
	/* No death signal: a helper whose parent is killed goes on, and kills
	 * the processes that it has stopped. */
	const pid_t helper = helper_fork(0);

	/* Without a helper, this process does the work: the run's processes may
	 * be the reason why fork(2) fails. */
	if (helper == 0)
		(void)signals_block(&callers_mask); /* Ctrl-C ends the parent */
	if (helper <= 0)
		work->result = finish(record, reap, &work->orphans);
	if (helper == 0)
		_exit(0);
	if (helper > 0 && !helper_await_until(helper, deadline) &&
	    reap->is_requested)
		message("run %s: stays on record: a process or a file system "
		        "does not answer",
		        record->entry.id);

	const int result = work->result;

	if (result != 0)
		orphans_continue(&work->orphans);
	array_free(work, sizeof(*work));
	return result;
}

/* --- all runs ------------------------------------------------------------- */

/* Finishes the runs in DIRECTORY_FD whose watchers are dead. Returns how many
 * of them stay on record; or -1, after a message if REAP is requested. */
static int
reap_in(int directory_fd, const struct reap *reap)
{
	struct record_walk walk;
	int left = 0;

	registry_tidy(directory_fd);

	int result = record_walk_begin(&walk, directory_fd);

	if (result == 0 && !walk.can_verify)
		result = -1;
	while (result != -1 && duration_now() < reap->deadline &&
	       (result = record_walk_next(&walk)) == 1) {
		switch (walk.record.state) {
		case RECORD_WAITING:
		case RECORD_RUNNING:
		case RECORD_STOPPING:
		case RECORD_ELSEWHERE:
			break;
		case RECORD_ORPHANED:
			left += finish_by_helper(&walk.record, reap) != 0;
			break;
		case RECORD_OLD:
			(void)finish_by_helper(&walk.record, reap);
			break;
		case RECORD_BROKEN:
			/* Perhaps the entry of an orphaned run. */
			left += walk.record.problem == NULL;
			if (reap->is_requested)
				record_report(&walk.record);
			break;
		}
	}
	if (result == -1 && reap->is_requested)
		record_walk_report(&walk);
	record_walk_end(&walk);
	return result == -1 ? -1 : left;
}

int
reap_all(const char *registry, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet,
		                   .is_requested = true,
		                   .deadline = NEVER };
	const int directory_fd = registry_open(registry, false);

	if (directory_fd == -1)
		return errno == ENOENT ? EXIT_SUCCESS : STATUS_FAILED;

	const int left = reap_in(directory_fd, &reap);

	(void)close(directory_fd);
	return left == -1 ? STATUS_FAILED : left > 0;
}

void
reap_before_run(int directory_fd, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet,
		                   .deadline = duration_now() + BOUND };

	(void)reap_in(directory_fd, &reap);
}

int
reap_record(struct record *record, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet,
		                   .is_requested = true,
		                   .deadline = NEVER };

	return finish_by_helper(record, &reap);
}
