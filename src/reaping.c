/* What is to be done for one run that its watchers did not finish. */
#include "reaping.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "duration.h"
#include "fileinfo.h"
#include "lockfile.h"
#include "message.h"
#include "orphans.h"
#include "record.h"

#define LINE_SIZE      4000
#define RIVAL_BOUND    (10 * SECOND) /* for another who reaps the same run */
#define RIVAL_PAUSE_MS 50

static void
add_run(struct line *line, const struct entry *entry)
{
	line_add(line, "run %s", entry->id);
	if (entry->name != NULL)
		line_add(line, " (%s)", entry->name);
}

/* --- whether it is to be done --------------------------------------------- */

/*
 * Takes the right to reap this run, which nobody else then has, until the
 * record is closed. Who was asked waits for another who has it. Returns whether
 * there is nobody else; a file system that knows no such locks does no harm, as
 * each signal is looked at on its own.
 */
static bool
take_over(const struct record *record, const struct reaping *reaping)
{
	const int64_t deadline = duration_now() + RIVAL_BOUND;

	while (flock(record->fd, LOCK_EX | LOCK_NB) == -1 &&
	       errno == EWOULDBLOCK) {
		if (!reaping->is_asked || duration_now() >= deadline)
			return false;
		(void)poll(NULL, 0, RIVAL_PAUSE_MS);
	}
	return true;
}

/* --- doing it ------------------------------------------------------------- */

static void
add_removal(struct line *line, const char *path, int result)
{
	if (result == 1)
		line_add(line, "; removed '%s'", path);
	else if (result == -1 && errno != ENOENT)
		line_add(line, "; cannot remove '%s': %s", path,
		         strerror(errno));
}

static void
remove_locks(struct line *line, const struct entry *entry)
{
	const struct lockfile_rule rule = { .without_pid = false };

	for (size_t i = 0; i < entry->lock_count; i++)
		add_removal(line, entry->locks[i],
		            lockfile_remove(entry->locks[i], &rule));
}

/*
 * Whether what is at CLEANUP's path, with no PID in it, may go. Nobody saw the
 * run end, so a file may have been made by a stranger since: what has content
 * goes only if processes of the run were there until now, and only if it was
 * made in their time. What is empty is no loss to anybody.
 */
static bool
may_be_theirs(const struct entry *entry, const struct entry_cleanup *cleanup,
              size_t killed)
{
	struct fileinfo file;

	if (fileinfo_at(cleanup->path, &file) == -1 || !S_ISREG(file.mode) ||
	    file.size == 0)
		return true;
	return killed > 0 &&
	       (file.birth == 0 || file.birth >= entry->started_at - SECOND);
}

static bool
is_as_before(const struct entry_cleanup *cleanup)
{
	struct fileinfo file;

	return fileinfo_at(cleanup->path, &file) == -1 ||
	       (file.inode == cleanup->before.inode &&
	        file.device == cleanup->before.device &&
	        file.birth == cleanup->before.birth);
}

static void
clean_up(struct line *line, const struct entry *entry,
         const struct entry_cleanup *at, size_t killed)
{
	const struct cleanup cleanup = { at->path, at->before, -1, { 0, 0 } };
	const bool is_over = may_be_theirs(entry, at, killed);
	const int result = cleanup_end(&cleanup, is_over);

	add_removal(line, at->path, result);
	if (!is_over && result == 0 && !is_as_before(at))
		line_add(line, "; left '%s', which may be somebody else's",
		         at->path);
}

static int
by_length(const void *left, const void *right)
{
	const size_t one = strlen(((const struct entry_cleanup *)left)->path);
	const size_t other =
	    strlen(((const struct entry_cleanup *)right)->path);

	return (one < other) - (one > other);
}

/* Sorts what is to be cleaned up for that: what lies in a directory comes
 * before it. Returns how many there are. */
static size_t
sort_cleanups(const struct entry *entry,
              struct entry_cleanup sorted[ENTRY_FILES_MAX])
{
	const size_t count = entry->cleanup_count;

	memcpy(sorted, entry->cleanups, count * sizeof(sorted[0]));
	if (count > 1)
		qsort(sorted, count, sizeof(sorted[0]), by_length);
	return count;
}

/* Takes the run off the record, which is the last thing: what is killed at any
 * moment before can be done again. Returns 0 or -1. */
static int
strike(struct line *line, const struct record *record)
{
	if (registry_remove(record->directory_fd, record->entry.id) == 0)
		return 0;
	line_add(line, "; cannot be taken off the record: %s", strerror(errno));
	return -1;
}

static void
add_killed(struct line *line, const struct orphans *orphans)
{
	if (orphans->killed > 0)
		line_add(line, ": killed %zu process%s: %s", orphans->killed,
		         orphans->killed == 1 ? "" : "es",
		         orphans->killed_text);
	else
		line_add(line, ": no process of it was left to be killed");
}

/* What is left keeps the run on record, and its files as they are. */
static int
keep(struct line *line, const struct orphans *orphans,
     const struct reaping *reaping)
{
	line_add(line, "; it is kept on record for what is left: %s",
	         orphans->left_text);
	if (reaping->is_asked || (orphans->killed > 0 && !reaping->is_quiet))
		message("%s", line->text);
	return -1;
}

static int
finish_run(const struct record *record, const struct reaping *reaping)
{
	const struct entry *const entry = &record->entry;
	char text[LINE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };
	struct entry_cleanup cleanups[ENTRY_FILES_MAX];
	struct orphans orphans;

	add_run(&line, entry);
	if (orphans_end(entry, &orphans) == -1) {
		if (reaping->is_asked)
			message("%s: cannot look for its processes: %s", text,
			        strerror(errno));
		return -1;
	}
	add_killed(&line, &orphans);
	if (orphans.left > 0)
		return keep(&line, &orphans, reaping);

	remove_locks(&line, entry);

	const size_t count = sort_cleanups(entry, cleanups);

	for (size_t i = 0; i < count; i++)
		clean_up(&line, entry, &cleanups[i], orphans.killed);

	const int result = strike(&line, record);

	if (!reaping->is_quiet || result == -1)
		message("%s", text);
	return result;
}

int
reaping_finish(const struct record *record, const struct reaping *reaping)
{
	const struct entry *const entry = &record->entry;
	char text[LINE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };

	add_run(&line, entry);
	if (!take_over(record, reaping)) {
		if (reaping->is_asked)
			message("%s: another wdrun is about to reap it", text);
		return -1;
	}

	/* The run may have been taken off the record meanwhile. */
	const int is_there = record_has_name(record);

	if (is_there != 1)
		return is_there;
	if (identity_look(&entry->front) != FATE_DEAD ||
	    identity_look(&entry->supervisor) != FATE_DEAD) {
		if (reaping->is_asked)
			message("%s: cannot see whether its watchers live",
			        text);
		return -1;
	}
	return finish_run(record, reaping);
}

/* --- from before the last boot -------------------------------------------- */

/* The moment of the last boot, or a second before: the clocks may have been set
 * since. */
static int64_t
boot_moment(void)
{
	struct timespec up;

	if (clock_gettime(CLOCK_BOOTTIME, &up) == -1)
		return 0;
	return duration_since_epoch() - (up.tv_sec + 1) * SECOND - up.tv_nsec;
}

bool
reaping_is_old(const struct stat *file)
{
	return file->st_ctim.tv_sec * SECOND + file->st_ctim.tv_nsec <
	       boot_moment();
}

/* All of its processes are dead, and their PIDs mean others now. Of a file that
 * was not changed since then, the maker is dead as well. */
int
reaping_drop(const struct record *record, const struct reaping *reaping)
{
	const struct entry *const entry = &record->entry;
	char text[LINE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };
	struct entry_cleanup cleanups[ENTRY_FILES_MAX];
	struct stat file;

	if (flock(record->fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK)
		return -1;

	/* The run may have been taken off the record meanwhile. */
	const int is_there = record_has_name(record);

	if (is_there != 1)
		return is_there;
	add_run(&line, entry);
	line_add(&line, ": was from before the last boot");
	remove_locks(&line, entry);

	const size_t count = sort_cleanups(entry, cleanups);

	/* What is as old as the run belongs to nobody who lives. */
	for (size_t i = 0; i < count; i++) {
		if (lstat(cleanups[i].path, &file) == 0 &&
		    reaping_is_old(&file))
			add_removal(&line, cleanups[i].path,
			            cleanup_remove(cleanups[i].path,
			                           &cleanups[i].before));
	}

	const int result = strike(&line, record);

	if (result == -1 || !reaping->is_quiet)
		message("%s", text);
	return result;
}
