/* Finishes runs whose watchers both died before the teardown. */
#include "registry/commands.h"

#include <sys/stat.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/text.h"
#include "lock/cleanup.h"
#include "lock/lock.h"
#include "proc/helper.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "registry/orphans.h"
#include "registry/registry.h"

#define NAMES_SIZE 200

#define START_BOUND (10 * SECOND) /* for all runs, before a run starts */
#define DYING_BOUND (10 * SECOND) /* for the lock of a run without a front */
#define DYING_PAUSE (5 * MILLISECOND)
#define PF_EXITING  0x4u /* include/linux/sched.h */
#define STAT_SIZE   1024

struct reap {
	bool is_quiet;
	bool is_requested; /* by --reap or --cancel: tells also what is left */
};

/* --- the files of a run --------------------------------------------------- */

static const pid_t nobody[2];

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

/* Removes a file of --cleanup. No watcher saw the end of the run, so another
 * process may have made a file without a PID since: one with content is removed
 * only if IS_CERTAIN, and an empty one is no loss. */
static void
clean_up(struct strbuf *line, const struct cleanup *cleanup, bool is_certain)
{
	struct stat file;
	const bool has_content = lstat(cleanup->path, &file) == 0 &&
	                         S_ISREG(file.st_mode) && file.st_size > 0;
	const int result =
	    cleanup_end(cleanup, nobody, is_certain || !has_content);

	if (result == 0 && has_content && !is_certain && cleanup->before == 0)
		strbuf_addf(line,
		            "; left '%s', which another process may have made",
		            cleanup->path);
	add_removal(line, cleanup->path, result);
}

/* Removes the files of a run: a lock file if the process whose PID it has is
 * dead, a watcher of the run, or of another that is over, too. */
static void
remove_files(struct strbuf *line, const struct entry *entry, bool is_certain)
{
	for (size_t i = 0; i < entry->lock_count; i++) {
		const struct cleanup lock = { .path = entry->locks[i],
			                      .before = CLEANUP_UNKNOWN,
			                      .claim_fd = -1 };

		add_removal(line, lock.path, cleanup_end(&lock, nobody, false));
	}
	for (size_t i = 0; i < entry->cleanup_count; i++)
		clean_up(line, &entry->cleanups[i], is_certain);
}

/* --- one run -------------------------------------------------------------- */

/* Ends the run at WALK, whose entry this process has locked. Returns 0, or -1
 * where the run stays on record; LINE says what was done, and what was not. */
static int
end_run(struct registry_walk *walk, struct orphans *orphans,
        struct strbuf *line)
{
	const bool is_old = strcmp(walk->entry.host, walk->host) != 0;

	if (is_old) {
		strbuf_addf(line, ": began before the last boot");
	} else if (orphans_end(&walk->entry, walk->id, orphans) == -1) {
		strbuf_addf(line, ": cannot read the processes in /proc: %s",
		            strerror(errno));
		return -1;
	} else if (orphans->killed == 0) {
		strbuf_addf(line, ": found no process to kill");
	} else {
		strbuf_addf(line, ": killed %zu process%s: %s", orphans->killed,
		            orphans->killed == 1 ? "" : "es",
		            orphans->text.text);
	}
	if (orphans->left > 0) {
		strbuf_addf(line, "; the run stays on record because of %s",
		            orphans->why.text);
		return -1;
	}
	remove_files(line, &walk->entry, is_old || orphans->killed > 0);
	/* Last: if SIGKILL comes before, all can be done again. */
	if (registry_remove(walk->directory_fd, walk->id) == 0)
		return 0;
	strbuf_addf(line, "; cannot remove '%s' from the registry: %s",
	            walk->file, strerror(errno));
	return -1;
}

/* As reap_entry(). Prints what was done, and if REAP is requested also why the
 * run stays on record. */
static int
finish(struct registry_walk *walk, const struct reap *reap)
{
	struct orphans orphans = { .text.grows = true, .why.grows = true };
	struct strbuf line = { .grows = true };

	if (!registry_take(walk))
		return 0;
	if (walk->state == RUN_UNFINISHED)
		return registry_remove(walk->directory_fd, walk->id);
	strbuf_addf(&line, "run %s", walk->id);
	if (walk->entry.name != NULL)
		strbuf_addf(&line, " (%s)", walk->entry.name);

	const int result = end_run(walk, &orphans, &line);
	const bool has_done = result == 0 || orphans.killed > 0;

	if ((has_done && !reap->is_quiet) ||
	    (result == -1 && reap->is_requested))
		message("%s", line.text);
	strbuf_free(&line);
	strbuf_free(&orphans.text);
	strbuf_free(&orphans.why);
	return result;
}

int
reap_entry(struct registry_walk *walk, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet, .is_requested = true };

	return finish(walk, &reap);
}

/* --- all runs ------------------------------------------------------------- */

/* Whether PROCESS is dead, or will be without a word more from the caller: it
 * has got SIGKILL, or is in exit(2). */
static bool
is_dying(const struct procid *process)
{
	char text[STAT_SIZE];
	const char *name_end;
	unsigned flags = 0;
	unsigned long pending = 0;

	if (!procid_is_alive(process))
		return true;
	if (procfs_read(process->pid, "stat", text, sizeof(text)) <= 0 ||
	    (name_end = strrchr(text, ')')) == NULL)
		return false;
	/* The fields 9, 31: proc_pid_stat(5). The kernel writes no bad number.
	 * NOLINTNEXTLINE(cert-err34-c) */
	(void)sscanf(name_end + 1,
	             "%*s %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s "
	             "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
	             "%lu",
	             &flags, &pending);
	return (flags & PF_EXITING) != 0 || (pending >> (SIGKILL - 1) & 1) != 0;
}

/*
 * Waits for the lock of the present run as long as its front is dying: either
 * the supervisor ends the run, or was killed as well and is not dead yet, or
 * another wdrun is finishing the run. Returns whether the run is orphaned now.
 */
static bool
becomes_orphaned(const struct registry_walk *walk)
{
	const int64_t deadline = duration_now() + DYING_BOUND;

	while (registry_is_held(walk)) {
		if (duration_now() >= deadline || !is_dying(&walk->entry.front))
			return false;
		duration_sleep(DYING_PAUSE);
	}
	return !registry_is_gone(walk);
}

/* Finishes the runs in DIRECTORY_FD whose watchers are dead. Returns how many
 * of them stay on record, or -1 after a message. */
static int
reap_in(int directory_fd, const struct reap *reap)
{
	struct registry_walk walk = { .skips_held = !reap->is_requested };
	char names[NAMES_SIZE];
	struct strbuf others = { .text = names, .size = sizeof(names) };
	int left = registry_begin(&walk, directory_fd);

	while (left != -1 && registry_next(&walk)) {
		switch (walk.state) {
		case RUN_WAITING:
		case RUN_RUNNING:
		case RUN_STOPPING:
			if (reap->is_requested && becomes_orphaned(&walk))
				walk.next--; /* to read its entry again */
			break;
		case RUN_ORPHANED:
		case RUN_UNFINISHED:
			left += finish(&walk, reap) != 0;
			break;
		case RUN_ELSEWHERE:
			break;
		case RUN_UNKNOWN:
			strbuf_addf(&others, "%s'%s'",
			            others.length == 0 ? "" : ", ", walk.file);
			break;
		}
	}
	if (others.length > 0 && reap->is_requested && !reap->is_quiet)
		message("registry: left alone what is no entry of this user: "
		        "%s%s",
		        names, others.is_cut ? "..." : "");
	registry_end(&walk);
	return left;
}

int
reap_all(const char *registry, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet, .is_requested = true };
	const int directory_fd = registry_open(registry, false);
	char host[REGISTRY_HOST_SIZE];

	if (directory_fd == -1)
		return errno == ENOENT ? EXIT_SUCCESS : STATUS_FAILED;

	const int left = registry_read_host(host, false) == -1
	                     ? -1
	                     : reap_in(directory_fd, &reap);

	(void)close(directory_fd);
	return left == -1 ? STATUS_FAILED : left > 0;
}

/* Whether the registry DIRECTORY_FD has an entry without a lock. */
static bool
has_orphans(int directory_fd)
{
	struct registry_walk walk = { .skips_held = true };
	bool is_found = false;

	if (registry_begin(&walk, directory_fd) == 0)
		while (!is_found && registry_next(&walk))
			is_found = walk.state == RUN_ORPHANED ||
			           walk.state == RUN_UNFINISHED;
	registry_end(&walk);
	return is_found;
}

void
reap_before_run(int directory_fd, bool is_quiet)
{
	const struct reap reap = { .is_quiet = is_quiet };

	if (!has_orphans(directory_fd))
		return;

	/* A read of a process, or a file system, may hang; the run shall not.
	 */
	const pid_t helper = helper_fork(SIGKILL);

	/* What is left may be the reason why fork(2) fails. */
	if (helper <= 0)
		(void)reap_in(directory_fd, &reap);
	if (helper == 0)
		_exit(0);
	(void)helper_await_until(helper, duration_now() + START_BOUND);
}
