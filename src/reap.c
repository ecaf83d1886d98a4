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
#include "procfs.h"
#include "reaping.h"

/* For the 5 s of orphans_end, and for another who reaps the same run. */
#define BOUND_MS       7000
#define BOUND_ASKED_MS 20000
#define END_BOUND_MS   1000
#define PATIENCE       (10 * SECOND) /* of a run that is to start */

/* --- by a helper, which may hang ------------------------------------------ */

/* Waits for the word of HELPER, who has the other end of FD, and for the end of
 * it. Returns that word, or -1 if none comes in time. */
static int
await(pid_t helper, int fd, int bound_ms)
{
	struct pollfd word = { .fd = fd, .events = POLLIN };
	signed char result = -1;

	/* Who has not closed the pipe lives: the number is its own. */
	if (poll(&word, 1, bound_ms) == 0)
		(void)kill(helper, SIGKILL);
	else if (read(fd, &result, 1) != 1)
		result = -1;
	/* One that not even SIGKILL ends is not waited for. */
	if (poll(&word, 1, END_BOUND_MS) > 0)
		(void)waitpid(helper, NULL, __WALL);
	return result;
}

/*
 * To look at a process may take for ever: what it carries in its environment
 * is in its own memory, and whoever reads that waits for whoever has its
 * mmap_lock. No run, and no --reap, is held up for that.
 */
static int
reap_by_helper(const struct record *record, const struct reaping *reaping)
{
	int word[2];

	if (pipe2(word, O_CLOEXEC) == -1)
		return reaping_finish(record, reaping);

	const pid_t helper = process_fork();

	if (helper == 0) {
		const signed char result =
		    (signed char)reaping_finish(record, reaping);

		_exit(write(word[1], &result, 1) == 1 ? 0 : STATUS_FAILED);
	}
	(void)close(word[1]);

	const int result =
	    helper == -1 ? reaping_finish(record, reaping)
	                 : await(helper, word[0],
	                         reaping->is_asked ? BOUND_ASKED_MS : BOUND_MS);

	(void)close(word[0]);
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
		if (reap_by_helper(record, reaping) != 0)
			reaping->left++;
		break;
	case RECORD_OLD:
		reaping_drop(record, reaping);
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
	if (procfs_is_ours() != 1) {
		message("--reap: without a /proc of this PID namespace nothing "
		        "can be verified");
		(void)close(directory_fd);
		return STATUS_FAILED;
	}

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

	/* Where /proc cannot be used, all runs are elsewhere. */
	(void)registry_visit_all(directory_fd, visit, &reaping);
	return 0;
}

int
reap_record(const struct record *record, bool is_quiet)
{
	const struct reaping reaping = { .is_quiet = is_quiet,
		                         .is_asked = true };

	return reap_by_helper(record, &reaping);
}
