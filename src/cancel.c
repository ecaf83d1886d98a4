/* Stopping one run that is on record, and no other. */
#include "cancel.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "message.h"
#include "procfs.h"
#include "record.h"
#include "registry.h"
#include "stopping.h"
#include "text.h"

#define STATUS_NONE_IN_FLIGHT 1
#define IDS_SIZE              512

/* How a word can mean a run. What is further up goes first. */
enum meaning {
	MEANS_ID,
	MEANS_NAME,
	MEANS_FRONT, /* a target may be the front of a run within the run */
	MEANS_SUPERVISOR,
	MEANS_TARGET,
	MEANS_ANOTHER,
};

struct search {
	const char *which;
	enum meaning best;
	size_t count;          /* of those that it means in this way */
	char id[NAME_MAX + 1]; /* of the first of them */
	struct line ids;       /* of all */
	bool is_quiet;
	int status;
};

/* --- finding it ----------------------------------------------------------- */

/* Whether PID means the process on record, or meant it, and means no other. */
static bool
means_process(long pid, const struct identity *process)
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

	if (strcmp(which, entry->id) == 0)
		return MEANS_ID;
	if (entry->name != NULL && strcmp(which, entry->name) == 0)
		return MEANS_NAME;
	if (record->state == RECORD_ELSEWHERE)
		return MEANS_ANOTHER; /* its PIDs mean others here */

	char *end;
	const long pid = strtol(which, &end, 10);

	if (*which == '\0' || *end != '\0')
		return MEANS_ANOTHER;
	if (means_process(pid, &entry->front))
		return MEANS_FRONT;
	if (means_process(pid, &entry->supervisor))
		return MEANS_SUPERVISOR;
	if (means_process(pid, &entry->target))
		return MEANS_TARGET;
	return MEANS_ANOTHER;
}

/* What is meant cannot be read, and so not be stopped. */
static int
refuse_broken(const struct record *record, struct search *search,
              const char *id)
{
	if (!registry_is_called(record, id))
		return 0;
	registry_tell(record);
	search->status = STATUS_FAILED;
	return 1;
}

static int
visit_to_find(const struct record *record, void *context)
{
	struct search *const search = context;

	if (record->state == RECORD_OLD)
		return 0;
	if (record->state == RECORD_BROKEN)
		return search->count > 0
		           ? 0
		           : refuse_broken(record, search, search->which);

	const enum meaning meaning = meaning_for(search->which, record);

	if (meaning == MEANS_ANOTHER || meaning > search->best)
		return 0;
	if (meaning < search->best) {
		search->best = meaning;
		search->count = 0;
		search->ids.length = 0;
	}
	if (search->count++ == 0)
		(void)text_format(search->id, sizeof(search->id), "%s",
		                  record->entry.id);
	line_add(&search->ids, "%s%s", search->count == 1 ? "" : ", ",
	         record->entry.id);
	return 0;
}

/* --- stopping it ---------------------------------------------------------- */

static int
visit_to_stop(const struct record *record, void *context)
{
	struct search *const search = context;

	if (record->state == RECORD_BROKEN)
		return refuse_broken(record, search, search->id);
	if (record->state == RECORD_OLD ||
	    strcmp(record->entry.id, search->id) != 0)
		return 0;
	if (record->state == RECORD_ELSEWHERE) {
		message("--cancel: run %s is in another PID namespace (a "
		        "container?): cancel it from within",
		        search->id);
		search->status = STATUS_FAILED;
	} else {
		search->status = stopping_end(record, search->is_quiet);
	}
	return 1;
}

/* --- the command ---------------------------------------------------------- */

static int
cancel_in(int directory_fd, struct search *search)
{
	if (registry_visit_all(directory_fd, visit_to_find, search) == -1) {
		message("--cancel: cannot read the registry: %s",
		        strerror(errno));
		return STATUS_FAILED;
	}
	if (search->count > 1) {
		message("--cancel: '%s' means %zu runs, name one by its ID: %s",
		        search->which, search->count, search->ids.text);
		return STATUS_FAILED;
	}
	if (search->count == 1) {
		/* If it is not there any more, it has just ended. */
		search->status = 0;
		if (registry_visit_all(directory_fd, visit_to_stop, search) ==
		    -1) {
			message("--cancel: cannot read the registry: %s",
			        strerror(errno));
			return STATUS_FAILED;
		}
	}
	return search->status;
}

int
cancel_run(const char *registry, const char *which, bool is_quiet)
{
	char ids[IDS_SIZE];
	struct search search = {
		.which = which,
		.best = MEANS_ANOTHER,
		.ids = { .text = ids, .size = sizeof(ids) },
		.is_quiet = is_quiet,
		.status = STATUS_NONE_IN_FLIGHT,
	};
	const int directory_fd = registry_open(registry, false);

	if (directory_fd == -1 && errno != ENOENT)
		return STATUS_FAILED;
	if (directory_fd != -1 && !record_can_look("cancel")) {
		search.status = STATUS_FAILED;
	} else if (directory_fd != -1) {
		search.status = cancel_in(directory_fd, &search);
	}
	if (directory_fd != -1)
		(void)close(directory_fd);
	if (search.status == STATUS_NONE_IN_FLIGHT && !is_quiet)
		message("nothing in flight: '%s'", which);
	return search.status;
}
