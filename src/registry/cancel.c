/* Stops one run that is on record, and no other. */
#include "registry/cancel.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "proc/procfs.h"
#include "proc/procid.h"
#include "registry/orphans.h"
#include "registry/reap.h"
#include "registry/record.h"

#define AFTER_KILL         (10 * SECOND)
#define LOOK_WITHOUT_PIDFD (50 * MILLISECOND)
#define IDS_SIZE           512

/* How the argument of --cancel can mean a run. The first meaning in this list
 * that fits any run decides. */
enum meaning {
	MEANS_ID,
	MEANS_NAME,
	MEANS_FRONT, /* before the target, which may be the front of a run
	              * within the run */
	MEANS_SUPERVISOR,
	MEANS_TARGET,
	MEANS_SHORT_ID, /* as in the table of --list */
	MEANS_NOTHING,
};

/* What a walk over the registry has found for WHICH. */
struct search {
	const char *which;
	enum meaning best;
	size_t count;      /* of the runs that WHICH means in this way */
	struct strbuf ids; /* of these runs */
	bool is_broken;    /* a broken record may be what WHICH means */
};

/* --- finding the run ------------------------------------------------------ */

/* Whether PID is that of PROCESS, dead or alive, and not that of a later
 * process with the same PID. */
static bool
means_process(uint64_t pid, const struct procid *process)
{
	struct procid now;

	return pid > 0 && pid == (uint64_t)process->pid &&
	       (procid_read(process->pid, &now) == -1 ||
	        now.start == process->start);
}

static enum meaning
meaning_for(const char *which, const struct record *record)
{
	const struct entry *const entry = &record->entry;
	uint64_t number = 0;
	const char *const end = text_read_number(which, DECIMAL, &number);

	if (record->state == RECORD_OLD)
		return MEANS_NOTHING;
	if (strcmp(which, entry->id) == 0)
		return MEANS_ID;
	if (entry->name != NULL && strcmp(which, entry->name) == 0)
		return MEANS_NAME;

	/* The PIDs of a run elsewhere mean other processes here. */
	if (record->state == RECORD_ELSEWHERE || end == NULL || *end != '\0')
		return MEANS_NOTHING;
	if (means_process(number, &entry->front))
		return MEANS_FRONT;
	if (means_process(number, &entry->supervisor))
		return MEANS_SUPERVISOR;
	if (means_process(number, &entry->target))
		return MEANS_TARGET;
	return text_number(entry->id, DECIMAL) == number ? MEANS_SHORT_ID
	                                                 : MEANS_NOTHING;
}

static void
compare(struct search *search, const struct record *record)
{
	if (record->state == RECORD_BROKEN) {
		if (record->problem == NULL ||
		    record_is_of(record, search->which)) {
			record_report(record);
			search->is_broken = true;
		}
		return;
	}

	const enum meaning meaning = meaning_for(search->which, record);

	if (meaning == MEANS_NOTHING || meaning > search->best)
		return;
	if (meaning < search->best) {
		search->best = meaning;
		search->count = 0;
		search->ids.length = 0;
	}
	strbuf_addf(&search->ids, "%s%s", search->count++ == 0 ? "" : ", ",
	            record->entry.id);
}

/* --- stopping the run ----------------------------------------------------- */

/* Whether PROCESS, the front or the supervisor, is dead. A front in another PID
 * namespace has no PID here; its supervisor ends after such a front. */
static bool
is_gone(const struct procid *process)
{
	return process->pid == 0 || procid_state_of(process) == PROCID_DEAD;
}

/* The watcher to signal: the front, or the supervisor if the front is gone.
 * Both take signals alike. */
static const struct procid *
find_watcher(const struct entry *entry)
{
	return is_gone(&entry->front) ? &entry->supervisor : &entry->front;
}

/* Sends SIGNAL to PROCESS. Returns 0, also if PROCESS is dead, or -1 with
 * errno. */
static int
signal_process(const struct procid *process, int signal)
{
	return procid_kill(process, signal) == 0 || errno == ESRCH ? 0 : -1;
}

/* The first terminating signal that PID does not ignore; else SIGKILL, after
 * which the other watcher ends the tree. A run ignores what its front ignored
 * at the start, under nohup(1) say: that protects the run from signals of the
 * terminal, and is not meant against --cancel. */
static int
find_signal(pid_t pid)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct procfs_status status;

	if (procfs_read_status(pid, &status) == -1)
		return SIGTERM;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if ((status.ignored >> (signals[i] - 1) & 1) == 0)
			return signals[i];
	}
	return SIGKILL;
}

/* Waits until PROCESS is gone, or DEADLINE. Returns whether PROCESS is gone. */
static bool
await_end(const struct procid *process, int64_t deadline)
{
	struct pollfd end = { .fd = procid_open(process), .events = POLLIN };
	const int64_t look_interval =
	    end.fd == -1 ? LOOK_WITHOUT_PIDFD : SECOND;
	int64_t left;

	while (!is_gone(process) && (left = deadline - duration_now()) > 0) {
		if (left > look_interval)
			left = look_interval;
		(void)poll(&end, 1, (int)(left / MILLISECOND) + 1);
	}
	fds_close(end.fd);
	return is_gone(process);
}

/* Waits until the run of ENTRY is over, or DEADLINE. Returns whether it is
 * over. */
static bool
await_run(const struct entry *entry, int64_t deadline)
{
	return await_end(&entry->front, deadline) &&
	       await_end(&entry->supervisor, deadline);
}

/* Ends front and supervisor of ENTRY. Returns 0, or -1 after a message. */
static int
end_run(const struct entry *entry)
{
	const int64_t deadline = duration_add(
	    duration_add(duration_now(), AFTER_KILL), entry->kill_after);
	const struct procid *const watcher = find_watcher(entry);

	/* A stopped watcher takes the signal when it is continued. */
	if (signal_process(watcher, find_signal(watcher->pid)) == 0 &&
	    signal_process(watcher, SIGCONT) == 0) {
		if (await_run(entry, deadline))
			return 0;
		/* A stopped supervisor would not notice that the front is
		 * dead. */
		if (signal_process(find_watcher(entry), SIGKILL) == 0 &&
		    signal_process(&entry->supervisor, SIGCONT) == 0) {
			if (await_run(entry, duration_now() + AFTER_KILL))
				return 0;
			message("--cancel: run %s survives SIGKILL", entry->id);
			return -1;
		}
	}
	message("--cancel: cannot signal run %s: %s", entry->id,
	        strerror(errno));
	return -1;
}

/* --- the command ---------------------------------------------------------- */

/* Stops the run ID. Returns the exit status. */
static int
stop_run(struct record_walk *walk, const char *id, bool is_quiet)
{
	struct record *const record = &walk->record;
	const int result = record_walk_find(walk, id);

	if (result == 0)
		return EXIT_SUCCESS; /* the run has just ended */
	if (result == -1)
		record_walk_report(walk);
	else if (record->state == RECORD_BROKEN)
		record_report(record);
	else if (record->state == RECORD_ELSEWHERE)
		message("--cancel: run %s is in another PID namespace (a "
		        "container?): cancel it from within",
		        id);
	/* A run removes its entry before it ends, unless the watchers were
	 * killed, or could not kill all processes of the run. */
	else if (end_run(&record->entry) == 0 &&
	         reap_record(record, is_quiet) == 0)
		return EXIT_SUCCESS;
	return STATUS_FAILED;
}

/* Stops the run in DIRECTORY_FD that WHICH means. Returns the exit status. */
static int
cancel_in(int directory_fd, const char *which, bool is_quiet)
{
	char ids[IDS_SIZE];
	struct search search = {
		.which = which,
		.best = MEANS_NOTHING,
		.ids = { .text = ids, .size = sizeof(ids) },
	};
	struct record_walk walk;
	int status = STATUS_FAILED;
	int result = record_walk_begin(&walk, directory_fd);

	if (result == 0 && !walk.can_verify)
		result = -1;
	while (result != -1 && (result = record_walk_next(&walk)) == 1)
		compare(&search, &walk.record);
	if (result == -1)
		record_walk_report(&walk);
	else if (search.count > 1)
		message("--cancel: '%s' means %zu runs, name one by its ID: %s",
		        which, search.count, ids);
	else if (search.count == 1)
		status = stop_run(&walk, ids, is_quiet);
	else if (!search.is_broken)
		status = STATUS_NOT_HAD;
	record_walk_end(&walk);
	return status;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	char path[PATH_MAX];
	struct strbuf directory = { .text = path, .size = sizeof(path) };
	const int directory_fd = registry_open(registry, false);
	int status = STATUS_NOT_HAD;

	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd != -1) {
		status = cancel_in(directory_fd, which, is_quiet);
		(void)close(directory_fd);
	}
	if (status == STATUS_NOT_HAD && !is_quiet &&
	    registry_find(&directory, registry) == 0)
		message("no run '%s' in %s", which, path);
	return status;
}
