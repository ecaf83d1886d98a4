/* What supervisor and target leave behind for the front. */
#include "run/statuspipe.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct entry {
	enum entry_kind kind;
	int value;
};

#define ENTRIES_MAX 8 /* read at a time; a run writes four */

int
statuspipe_open(int fds[2])
{
	return pipe2(fds, O_CLOEXEC | O_NONBLOCK);
}

void
statuspipe_send(int fd, enum entry_kind kind, int value)
{
	const struct entry entry = { kind, value };
	ssize_t written;

	do
		written = write(fd, &entry, sizeof(entry));
	while (written == -1 && errno == EINTR);
}

void
statuspipe_send_outcome(int fd, struct outcome outcome)
{
	statuspipe_send(fd,
	                outcome.kind == OUTCOME_EXIT ? ENTRY_ENDED
	                                             : ENTRY_ENDED_BY_SIGNAL,
	                outcome.value);
}

static void
note(struct statuspipe *status, const struct entry *entry)
{
	switch (entry->kind) {
	case ENTRY_TARGET:
		status->target = entry->value;
		break;
	case ENTRY_EXEC_FAILED:
		status->exec_errno = entry->value;
		break;
	case ENTRY_STOP:
		status->stop = (enum reason)entry->value;
		break;
	case ENTRY_ENDED:
	case ENTRY_ENDED_BY_SIGNAL:
		status->outcome.kind =
		    entry->kind == ENTRY_ENDED ? OUTCOME_EXIT : OUTCOME_SIGNAL;
		status->outcome.value = entry->value;
		break;
	}
}

void
statuspipe_read(int fd, struct statuspipe *status)
{
	struct entry entries[ENTRIES_MAX];
	ssize_t length;

	do {
		length = read(fd, entries, sizeof(entries));
		for (ssize_t i = 0; i < length / (ssize_t)sizeof(entries[0]);
		     i++)
			note(status, &entries[i]);
	} while (length == (ssize_t)sizeof(entries) ||
	         (length == -1 && errno == EINTR));
}
