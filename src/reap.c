/* Finishing for runs what both of their watchers died too early to do. */
#include "reap.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "fork.h"
#include "message.h"
#include "reaping.h"
#include "record.h"

/* For the 13 s of orphans_end, but no longer than a run waits; and for another
 * who reaps the same run. */
#define BOUND_MS       10000
#define DROP_BOUND_MS  2000 /* nobody is looked for: only files */
#define BOUND_ASKED_MS 20000
#define END_BOUND_MS   1000
#define PATIENCE       (10 * SECOND) /* of a run that is to start */

/* --- by a helper, which may hang ------------------------------------------ */

typedef int finish_run(const struct record *record,
                       const struct reaping *reaping);

/* Waits no longer than BOUND_MS until there is something to be read from FD, or
 * nobody is left who could write. Returns whether that is so. */
static bool
has_word(int fd, int bound_ms)
{
	struct pollfd word = { .fd = fd, .events = POLLIN };
	const int64_t deadline = duration_now() + bound_ms * MILLISECOND;
	int64_t left;
	int result = -1;

	while (result == -1 && (left = deadline - duration_now()) > 0)
		result = poll(&word, 1, (int)(left / MILLISECOND) + 1);
	return result > 0;
}

/* Waits for the word of HELPER, who has the other end of FD, and for the end of
 * it. Returns that word, or -1 if none comes in time. */
static int
await(pid_t helper, int fd, int bound_ms, bool *is_hung)
{
	signed char result = -1;

	*is_hung = !has_word(fd, bound_ms);
	/* Who has not closed the pipe lives: the number is its own. */
	if (*is_hung)
		(void)kill(helper, SIGKILL);
	else if (read(fd, &result, 1) != 1)
		result = -1;
	/* One that not even SIGKILL ends is not waited for. */
	if (has_word(fd, END_BOUND_MS))
		(void)waitpid(helper, NULL, __WALL);
	return result;
}

/* A run that is to start waits no longer than all of its patience. */
static int
bound_of(const struct reaping *reaping, int bound_ms)
{
	if (reaping->is_asked)
		return BOUND_ASKED_MS;

	const int64_t left = (reaping->deadline - duration_now()) / MILLISECOND;

	return left < 0 ? 0 : left < bound_ms ? (int)left : bound_ms;
}

/*
 * To look at a process may take for ever: what it carries in its environment
 * is in its own memory, and whoever reads that waits for whoever has its
 * mmap_lock. So may a file on a file system that hangs. No run, and no --reap,
 * is held up for that.
 */
static int
do_by_helper(finish_run *work, const struct record *record,
             const struct reaping *reaping, int bound_ms)
{
	bool is_hung = false;
	int word[2];

	if (pipe2(word, O_CLOEXEC) == -1)
		return work(record, reaping);

	const pid_t helper = process_fork();

	if (helper == 0) {
		const signed char result = (signed char)work(record, reaping);

		_exit(write(word[1], &result, 1) == 1 ? 0 : STATUS_FAILED);
	}
	(void)close(word[1]);

	const int result =
	    helper == -1
	        ? work(record, reaping)
	        : await(helper, word[0], bound_of(reaping, bound_ms), &is_hung);

	(void)close(word[0]);
	if (is_hung && reaping->is_asked)
		message("run %s: left as it is: a process or a file system "
		        "does not answer",
		        record->entry.id);
	return result;
}

/* --- the walk ------------------------------------------------------------- */

static void
see_to_broken(const struct record *record, const struct reaping *reaping)
{
	struct stat file;

	if (!reaping->is_asked)
		return;
	if (fstatat(record->directory_fd, record->file, &file,
	            AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISREG(file.st_mode) && reaping_is_old(&file) &&
	    unlinkat(record->directory_fd, record->file, 0) == 0) {
		if (!reaping->is_quiet)
			message("registry: removed '%s', no entry, from before "
			        "the last boot",
			        record->file);
		return;
	}
	registry_tell(record);
}

static int
visit(const struct record *record, void *context)
{
	struct reaping *const reaping = context;

	switch (record->state) {
	case RECORD_RUNNING:
	case RECORD_STOPPING:
	case RECORD_ELSEWHERE:
		break;
	case RECORD_ORPHANED:
		if (do_by_helper(reaping_finish, record, reaping, BOUND_MS) !=
		    0)
			reaping->left++;
		break;
	case RECORD_OLD:
		(void)do_by_helper(reaping_drop, record, reaping,
		                   DROP_BOUND_MS);
		break;
	case RECORD_BROKEN:
		see_to_broken(record, reaping);
		break;
	}
	return duration_now() >= reaping->deadline;
}

int
reap_all(const char *registry, bool is_quiet)
{
	struct reaping reaping = { .is_quiet = is_quiet,
		                   .is_asked = true,
		                   .deadline = NEVER };
	const int directory_fd = registry_open(registry, false);

	if (directory_fd == -1)
		return errno == ENOENT ? 0 : STATUS_FAILED;
	if (!record_can_look("reap")) {
		(void)close(directory_fd);
		return STATUS_FAILED;
	}

	registry_tidy(directory_fd);

	const int result = registry_visit_all(directory_fd, visit, &reaping);

	if (result == -1)
		message("--reap: cannot read the registry: %s",
		        strerror(errno));
	(void)close(directory_fd);
	if (result == -1)
		return STATUS_FAILED;
	return reaping.left > 0;
}

int
reap_before_run(int directory_fd, bool is_quiet)
{
	struct reaping reaping = {
		.is_quiet = is_quiet,
		.deadline = duration_add(duration_now(), PATIENCE),
	};

	registry_tidy(directory_fd);
	/* Where /proc cannot be used, all runs are elsewhere. */
	(void)registry_visit_all(directory_fd, visit, &reaping);
	return 0;
}

int
reap_record(const struct record *record, bool is_quiet)
{
	const struct reaping reaping = { .is_quiet = is_quiet,
		                         .is_asked = true };

	return do_by_helper(reaping_finish, record, &reaping, BOUND_MS);
}
