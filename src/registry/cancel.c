/* Stops one run that is on record, and no other. */
#include "registry/cancel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "proc/procfs.h"
#include "proc/procid.h"
#include "registry/orphans.h"
#include "registry/reap.h"
#include "registry/record.h"

#define AFTER_KILL         (10 * SECOND)
#define LOOK_WITHOUT_PIDFD (50 * MILLISECOND)
#define IDS_SIZE           512

/* How the argument of --cancel can mean a run. The first of these that any run
 * fits decides. */
enum meaning {
	MEANS_ID,
	MEANS_NAME,
	MEANS_FRONT, /* a target may be the front of a run within the run */
	MEANS_SUPERVISOR,
	MEANS_TARGET,
	MEANS_NOTHING,
};

/* What a walk over the registry has found for WHICH. */
struct search {
	const char *which;
	enum meaning best;
	size_t count;      /* of the runs that WHICH means in this way */
	struct strbuf ids; /* of these */
	bool is_broken;    /* a broken record may be what WHICH means */
};

/* --- finding it ----------------------------------------------------------- */

/* Whether PID is PROCESS, dead or alive, and not a later process that got its
 * PID. */
static bool
means_process(long pid, const struct procid *process)
{
	struct procfs_stat stat;

	return pid > 0 && pid == process->pid &&
	       (procfs_read_stat(process->pid, &stat) == -1 ||
	        stat.start == process->start);
}

static enum meaning
meaning_for(const char *which, const struct record *record)
{
	const struct entry *const entry = &record->entry;
	char *end;

	if (record->state == RECORD_OLD)
		return MEANS_NOTHING;
	if (strcmp(which, entry->id) == 0)
		return MEANS_ID;
	if (entry->name != NULL && strcmp(which, entry->name) == 0)
		return MEANS_NAME;

	const long pid = strtol(which, &end, 10);

	/* The PIDs of a run elsewhere are those of other processes here. */
	if (record->state == RECORD_ELSEWHERE || *which == '\0' || *end != '\0')
		return MEANS_NOTHING;
	if (means_process(pid, &entry->front))
		return MEANS_FRONT;
	if (means_process(pid, &entry->supervisor))
		return MEANS_SUPERVISOR;
	if (means_process(pid, &entry->target))
		return MEANS_TARGET;
	return MEANS_NOTHING;
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

/* --- stopping it ---------------------------------------------------------- */

/* Whether PROCESS, the front or the supervisor, is dead. A front in another PID
 * namespace has no PID here: its supervisor ends after it. */
static bool
is_gone(const struct procid *process)
{
	return process->pid == 0 || procid_state_of(process) == PROCID_DEAD;
}

/* The front, or where that is gone the supervisor. Both take signals alike. */
static const struct procid *
find_watcher(const struct entry *entry)
{
	return is_gone(&entry->front) ? &entry->supervisor : &entry->front;
}

/* Sends SIGNAL to WATCHER, and SIGCONT to STOPPED. Returns 0, or -1 with errno;
 * that one of them is dead is no error. */
static int
signal_run(const struct procid *watcher, int signal,
           const struct procid *stopped)
{
	return (procid_kill(watcher, signal) == 0 || errno == ESRCH) &&
	               (procid_kill(stopped, SIGCONT) == 0 || errno == ESRCH)
	           ? 0
	           : -1;
}

/*
 * The first terminating signal that PID does not ignore. A run ignores what its
 * front ignored at the start, under nohup(1) say; that is meant for signals of
 * the terminal, not for --cancel. SIGKILL if PID ignores all of them: the other
 * watcher then ends the tree.
 */
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

/* Waits until PROCESS is gone, but not beyond DEADLINE. Returns whether it is.
 */
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
	if (end.fd != -1)
		(void)close(end.fd);
	return is_gone(process);
}

/* Waits until the run of ENTRY is over, but not beyond DEADLINE. Returns
 * whether it is. */
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

	/* If the watcher is stopped, it takes the signal once it continues. */
	int result = signal_run(watcher, find_signal(watcher->pid), watcher);

	if (result == 0 && await_run(entry, deadline))
		return 0;
	/* A stopped supervisor would not notice that the front is dead. */
	if (result == 0)
		result = signal_run(find_watcher(entry), SIGKILL,
		                    &entry->supervisor);
	if (result == -1)
		message("--cancel: cannot signal run %s: %s", entry->id,
		        strerror(errno));
	else if (await_run(entry, duration_now() + AFTER_KILL))
		return 0;
	else
		message("--cancel: run %s does not end, not even by SIGKILL",
		        entry->id);
	return -1;
}

/* --- the command ---------------------------------------------------------- */

/* Stops the run of RECORD. Returns the exit status. */
static int
stop_run(struct record *record, bool is_quiet)
{
	if (record->state == RECORD_BROKEN) {
		record_report(record);
		return STATUS_FAILED;
	}
	if (record->state == RECORD_ELSEWHERE) {
		message("--cancel: run %s is in another PID namespace (a "
		        "container?): cancel it from within",
		        record->entry.id);
		return STATUS_FAILED;
	}
	if (end_run(&record->entry) == -1)
		return STATUS_FAILED;
	/* A run removes its entry before it ends, unless its watchers were
	 * killed, or could not kill something of it. */
	return reap_record(record, is_quiet) == 0 ? EXIT_SUCCESS
	                                          : STATUS_FAILED;
}

/* Looks for what WHICH means. Returns the exit status. */
static int
cancel_in(struct record_walk *walk, const char *which, bool is_quiet)
{
	char ids[IDS_SIZE];
	struct search search = {
		.which = which,
		.best = MEANS_NOTHING,
		.ids = { .text = ids, .size = sizeof(ids) },
	};
	int result;

	while ((result = record_walk_next(walk)) == 1)
		compare(&search, &walk->record);
	if (result == 0 && search.count > 1) {
		message("--cancel: '%s' means %zu runs, name one by its ID: %s",
		        which, search.count, ids);
		return STATUS_FAILED;
	}
	if (result == 0 && search.count == 0)
		return search.is_broken ? STATUS_FAILED : STATUS_NOT_HAD;
	if (result == 0)
		result = record_walk_find(walk, ids);
	if (result == 1)
		return stop_run(&walk->record, is_quiet);
	if (result == 0)
		return EXIT_SUCCESS; /* the run has just ended */
	record_walk_report(walk);
	return STATUS_FAILED;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	const int directory_fd = registry_open(registry, false);
	struct record_walk walk;
	int status = STATUS_NOT_HAD;

	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd != -1) {
		if (record_walk_begin(&walk, directory_fd) == -1 ||
		    !walk.can_verify) {
			record_walk_report(&walk);
			status = STATUS_FAILED;
		} else {
			status = cancel_in(&walk, which, is_quiet);
		}
		record_walk_end(&walk);
		(void)close(directory_fd);
	}
	if (status == STATUS_NOT_HAD && !is_quiet)
		message("nothing in flight: '%s'", which);
	return status;
}
