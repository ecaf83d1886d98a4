/* What supervisor and target tell the front. */
#include "run/statuspipe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES_MAX 4 /* read at a time; most runs write two */

int
statuspipe_open(int fds[2])
{
	return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
}

void
statuspipe_send(int fd, const struct statuspipe *entry)
{
	ssize_t written;

	do
		written = write(fd, entry, sizeof(*entry));
	while (written == -1 && errno == EINTR);
}

static void
note(struct statuspipe *status, const struct statuspipe *entry)
{
	if (entry->target != 0)
		status->target = entry->target;
	if (entry->exec_errno != 0) {
		status->exec_errno = entry->exec_errno;
		status->is_found = entry->is_found;
		memcpy(status->interpreter, entry->interpreter,
		       sizeof(status->interpreter));
	}
	status->is_stopping |= entry->is_stopping;
	if (entry->stop != REASON_NONE)
		status->stop = entry->stop;
	if (entry->outcome.kind != OUTCOME_UNKNOWN)
		status->outcome = entry->outcome;
	if (entry->usage.elapsed != 0)
		status->usage = entry->usage;
}

void
statuspipe_read(int fd, struct statuspipe *status)
{
	struct statuspipe entries[ENTRIES_MAX];
	ssize_t length;

	do {
		length = read(fd, entries, sizeof(entries));
		for (ssize_t i = 0; i < length / (ssize_t)sizeof(entries[0]);
		     i++)
			note(status, &entries[i]);
	} while (length == (ssize_t)sizeof(entries) ||
	         (length == -1 && errno == EINTR));
}
