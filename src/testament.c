/* What the dead have left to the front. */
#include "testament.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct entry {
	enum {
		ENTRY_TARGET,
		ENTRY_EXEC_FAILED,
		ENTRY_STOP,
		ENTRY_VERDICT_EXIT,
		ENTRY_VERDICT_SIGNAL,
	} kind;
	int value;
};

#define ENTRIES_MAX 8 /* that are read at a time */

int
testament_open(struct run *run)
{
	return pipe2(run->testament, O_CLOEXEC | O_NONBLOCK);
}

static void
leave(const struct run *run, struct entry entry)
{
	ssize_t written;

	/* There is room for hundreds, and a run writes four. */
	do
		written = write(run->testament[1], &entry, sizeof(entry));
	while (written == -1 && errno == EINTR);
}

void
testament_name_target(const struct run *run, pid_t target)
{
	leave(run, (struct entry){ ENTRY_TARGET, target });
}

void
testament_exec_failed(const struct run *run, int why)
{
	leave(run, (struct entry){ ENTRY_EXEC_FAILED, why });
}

void
testament_name_stop(const struct run *run, enum reason why)
{
	leave(run, (struct entry){ ENTRY_STOP, (int)why });
}

void
testament_judge(const struct run *run, struct outcome verdict)
{
	leave(run, (struct entry){ verdict.kind == OUTCOME_EXIT
	                               ? ENTRY_VERDICT_EXIT
	                               : ENTRY_VERDICT_SIGNAL,
	                           verdict.value });
}

static void
note(struct testament *testament, struct entry entry)
{
	switch (entry.kind) {
	case ENTRY_TARGET:
		testament->target = entry.value;
		break;
	case ENTRY_EXEC_FAILED:
		testament->exec_errno = entry.value;
		break;
	case ENTRY_STOP:
		testament->stop = (enum reason)entry.value;
		break;
	case ENTRY_VERDICT_EXIT:
		testament->verdict =
		    (struct outcome){ OUTCOME_EXIT, entry.value };
		break;
	case ENTRY_VERDICT_SIGNAL:
		testament->verdict =
		    (struct outcome){ OUTCOME_SIGNAL, entry.value };
		break;
	}
}

void
testament_read(const struct run *run, struct testament *testament)
{
	struct entry entries[ENTRIES_MAX];
	ssize_t length;

	do {
		length = read(run->testament[0], entries, sizeof(entries));
		for (ssize_t i = 0; i < length / (ssize_t)sizeof(entries[0]);
		     i++)
			note(testament, entries[i]);
	} while (length == (ssize_t)sizeof(entries) ||
	         (length == -1 && errno == EINTR));
}
