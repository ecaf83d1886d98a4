/* What has to be in order when a run is over, besides its processes. */
#include "settle.h"

#include <sys/mman.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "abspath.h"
#include "duration.h"
#include "fork.h"
#include "helper.h"
#include "judge.h"
#include "locks.h"
#include "message.h"
#include "reap.h"
#include "registry.h"
#include "report.h"

#define PATIENCE (5 * SECOND)
#define TRIES    2

/* Makes the paths that are given to OPTION absolute, since the watchers leave
 * the caller's directory. The report, once it is known, is none of them: it
 * would be removed, or replace them. */
static int
resolve(const struct run *run, const char *option, struct files *files)
{
	const char *const other = run->options.report;

	for (size_t i = 0; i < files->count; i++) {
		const char *const path =
		    abspath_make(run->estate->directory, files->paths[i]);

		if (path == NULL) {
			message("--%s: '%s': the working directory is not "
			        "known: %s",
			        option, files->paths[i], strerror(errno));
			return -1;
		}
		if (other != NULL && strcmp(path, other) == 0) {
			message("--%s: '%s' is the file of --report", option,
			        path);
			return -1;
		}
		files->paths[i] = path;
	}
	return 0;
}

static bool
is_needed(const struct options *options)
{
	return options->locks.count > 0 || options->cleanups.count > 0 ||
	       options->is_registered || options->report != NULL;
}

static struct estate *
make(const struct options *options)
{
	struct estate *const estate = calloc(1, sizeof(*estate));

	if (estate == NULL) {
		message("no memory for locks: %s", strerror(errno));
		return NULL;
	}
	estate->page = mmap(NULL, sizeof(*estate->page), PROT_READ | PROT_WRITE,
	                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (estate->page == MAP_FAILED) {
		message("no memory for locks: %s", strerror(errno));
		free(estate);
		return NULL;
	}
	estate->registry_fd = -1;
	estate->started_at = duration_since_epoch();
	estate->directory = getcwd(NULL, 0); /* or NULL, with errno */
	estate->lock_count = options->locks.count;
	for (size_t i = 0; i < FILES_MAX; i++) {
		estate->locks[i].fd = -1;
		estate->cleanups[i].claim_fd = -1;
	}
	return estate;
}

static int
prepare_report(struct run *run)
{
	if (run->options.report == NULL)
		return 0;
	if (report_check(run->options.report) == -1)
		return -1;
	if (report_begin(run) == 0)
		return 0;
	message("--report: %s", strerror(errno));
	return -1;
}

static int
resolve_all(struct run *run)
{
	struct options *const options = &run->options;
	struct files file = { options->report != NULL, { options->report } };
	struct files tee = { options->tee != NULL, { options->tee } };

	options->report = NULL;
	if (resolve(run, "report", &file) == -1)
		return -1;
	options->report = file.paths[0];
	if (resolve(run, "lock", &options->locks) == -1 ||
	    resolve(run, "cleanup", &options->cleanups) == -1)
		return -1;
	return options->report == NULL ? 0 : resolve(run, "tee", &tee);
}

/* Looks at what will be looked at when signals are blocked, when a file system
 * that hangs could not be interrupted any more. */
static void
probe(const struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		cleanup_probe(files->paths[i]);
}

int
settle_prepare(struct run *run)
{
	struct options *const options = &run->options;

	if (!is_needed(options))
		return 0;
	run->estate = make(options);
	if (run->estate == NULL || resolve_all(run) == -1 ||
	    prepare_report(run) == -1 || locks_check(run) == -1)
		return -1;
	for (size_t i = 0; i < options->locks.count; i++)
		run->estate->locks[i].path = options->locks.paths[i];
	probe(&options->cleanups);
	if (!options->is_registered)
		return 0;
	run->estate->registry_fd = registry_open(options->registry, true);
	if (run->estate->registry_fd == -1)
		return -1;
	(void)reap_before_run(run->estate->registry_fd, options->quiet);
	return 0;
}

/* Forks a helper that does WORK. Returns its PID; or 0, where WORK was done
 * here, as there is no process to be had. */
static pid_t
delegate(struct run *run, void (*work)(struct run *run))
{
	const pid_t self = getpid();
	const pid_t helper = process_fork();

	if (helper == 0) {
		helper_follow(self, SIGKILL);
		work(run);
		_exit(0);
	}
	if (helper == -1) {
		work(run);
		return 0;
	}
	helper_add(&run->tree, helper);
	return helper;
}

/* Whether WORK is done before the helper's time is over. */
static bool
do_in_time(struct run *run, void (*work)(struct run *run))
{
	const int64_t bound = duration_add(duration_now(), PATIENCE);
	const pid_t helper = delegate(run, work);

	while (helper != 0 && !helper_await(&run->tree, helper)) {
		helper_keep_going(&run->tree);
		if (duration_now() < bound)
			continue;
		(void)helper_end(&run->tree, helper, SIGKILL);
		return false;
	}
	return true;
}

static void
write_report(struct run *run)
{
	report_write(run);
	run->estate->page->reported = run->report->verdict;
	run->estate->page->is_reported = true;
}

/* By a helper; and by a second one, if somebody has killed it. */
static void
report(struct run *run)
{
	run->estate->page->is_reported = false;
	for (int i = 0; i < TRIES && !run->estate->page->is_reported; i++) {
		if (!do_in_time(run, write_report))
			return;
	}
}

/* There was nothing to be run. */
static void
settle_lockout(struct run *run, int status)
{
	if (run->report == NULL)
		return;
	report_note_end(
	    run, run->cancel_signal != 0
	             ? (struct outcome){ OUTCOME_SIGNAL, run->cancel_signal }
	             : (struct outcome){ OUTCOME_EXIT, status });
	report(run);
}

int
settle_begin(struct run *run)
{
	const struct files *const files = &run->options.cleanups;
	struct estate *const estate = run->estate;

	if (estate == NULL)
		return LOCKS_ARE_TAKEN;
	estate->owner = getpid();

	const int status = locks_take(run);

	if (status != LOCKS_ARE_TAKEN) {
		settle_lockout(run, status);
		return status;
	}
	/* Only now, when the run before has put its own in order. */
	for (size_t i = 0; i < files->count; i++) {
		estate->cleanups[i].path = files->paths[i];
		estate->cleanups[i].watchers[0] = estate->owner;
		cleanup_begin(&estate->cleanups[i]);
	}
	estate->cleanup_count = files->count;
	return LOCKS_ARE_TAKEN;
}

void
settle_keep(const struct run *run, int keep[])
{
	const struct estate *const estate = run->estate;

	keep[0] = estate == NULL ? -1 : estate->registry_fd;
	for (size_t i = 0; i < FILES_MAX; i++) {
		keep[1 + i] = estate == NULL ? -1 : estate->locks[i].fd;
		keep[1 + FILES_MAX + i] =
		    estate == NULL ? -1 : estate->cleanups[i].claim_fd;
	}
}

void
settle_let_go(const struct run *run)
{
	int fds[ESTATE_FDS];

	settle_keep(run, fds);
	for (size_t i = 0; i < ESTATE_FDS; i++) {
		if (fds[i] != -1)
			(void)close(fds[i]);
	}
}

static void
clean_up(struct cleanup *cleanup, const struct run *run)
{
	cleanup->watchers[1] = run->supervisor;
	/* What was let go, or cannot be killed, may still have its lock. */
	switch (cleanup_end(cleanup, run->tree_is_empty)) {
	case 0:
		return;
	case 1:
		if (!run->options.quiet)
			message("--cleanup: removed '%s', which the command "
			        "had left",
			        cleanup->path);
		return;
	default:
		message("--cleanup: '%s' is left: %s", cleanup->path,
		        errno == EUSERS
		            ? "it is another user's, in a sticky directory"
		        : errno == ELOOP ? "it is a symbolic link"
		        : errno == ENOTSUP
		            ? "it is no regular file and no directory"
		            : strerror(errno));
		return;
	}
}

static int
by_length(const void *left, const void *right)
{
	const struct cleanup *const a = left;
	const struct cleanup *const b = right;
	const size_t a_length = strlen(a->path);
	const size_t b_length = strlen(b->path);

	return (a_length < b_length) - (a_length > b_length);
}

/* What lies in a directory comes before that: the longest path first. */
static void
clean_up_all(const struct run *run)
{
	struct estate *const estate = run->estate;

	qsort(estate->cleanups, estate->cleanup_count,
	      sizeof(estate->cleanups[0]), by_length);
	for (size_t i = 0; i < estate->cleanup_count; i++)
		clean_up(&estate->cleanups[i], run);
}

void
settle_at_once(struct run *run)
{
	struct estate *const estate = run->estate;
	const int why = errno;

	if (estate == NULL || estate->page->is_settled)
		return;
	clean_up_all(run);
	/* What cannot be killed stays on record, for --reap. */
	if (estate->registry_fd != -1 && judge_is_over(run) &&
	    registry_remove(estate->registry_fd, runid_of(run->id)) == -1)
		message("the registry: cannot remove the entry of run %s: %s",
		        runid_of(run->id), strerror(errno));
	if (run->report != NULL)
		write_report(run);
	locks_release(run);
	estate->page->is_settled = true;
	errno = why;
}

void
settle_note_end(struct run *run)
{
	if (run->estate != NULL)
		run->estate->page->tree_is_empty = run->tree_is_empty;
}

void
settle_for_supervisor(struct run *run)
{
	if (run->estate == NULL || run->estate->page->is_settled)
		return;
	run->target_left = run->stop == REASON_NONE;
	run->tree_is_empty = run->estate->page->tree_is_empty;
	settle(run);
}

void
settle_amend(struct run *run)
{
	const struct outcome *told;

	if (run->report == NULL)
		return;
	told = &run->estate->page->reported;
	if (output_sum(&run->output).undelivered > 0 ||
	    told->kind != run->report->verdict.kind ||
	    told->value != run->report->verdict.value)
		report(run);
}

void
settle_inherit(struct run *run)
{
	if (run->estate != NULL && run->estate->lock_count > 0)
		(void)delegate(run, locks_hand_over);
}

void
settle(struct run *run)
{
	if (run->estate == NULL || run->estate->page->is_settled)
		return;
	/* A second time, if somebody has killed the helper. */
	for (int i = 0; i < TRIES && !run->estate->page->is_settled; i++) {
		if (do_in_time(run, settle_at_once))
			continue;
		message("locks and registry may be left as they are: a file "
		        "system does not answer");
		/* They may be on another one. */
		(void)do_in_time(run, locks_release);
		break;
	}
	settle_let_go(run);
}
