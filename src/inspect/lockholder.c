/* The process that holds a lock on a file. */
#include "inspect/lockholder.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "inspect/proctable.h"
#include "proc/procfs.h"
#include "proc/proctree.h"

#define FILE_SIZE 64

/* Rows of /proc/locks, proc(5): "1: FLOCK ADVISORY WRITE 4711 fe:00:21 0 EOF"
 * for a lock, and "1: -> FLOCK ADVISORY WRITE 4712 fe:00:21 0 EOF" for a
 * process that waits for the lock. */
enum {
	FIELD_NUMBER = 0,
	FIELD_TYPE = 1,
	FIELD_PID = 4,
	FIELD_WAITER = 5,
	FIELD_WAITERS_FILE = 6,
};

struct search {
	pid_t pid;
	const char *file; /* " fe:00:21 " */
	bool is_found;
};

/* Notes whether descriptor FD holds a lock on the file, by a row of fdinfo such
 * as "lock:\t1: FLOCK …". */
static int
visit_descriptor(pid_t fd, void *context)
{
	struct search *const search = context;
	char text[PROCFS_DESCRIPTOR_SIZE];
	const char *row = NULL;

	if (procfs_read_descriptor(search->pid, fd, text) > 0)
		row = procfs_find(text, "lock:");
	search->is_found |=
	    row != NULL && text_find(row, strlen(row), search->file,
	                             strlen(search->file)) != NULL;
	return 0;
}

static bool
holds(pid_t pid, const char *file)
{
	struct search search = { .pid = pid, .file = file };

	(void)procfs_visit_descriptors(pid, visit_descriptor, &search);
	return search.is_found;
}

pid_t
lockholder_find(pid_t waiter, const struct process_list *list)
{
	char row[PROCTABLE_LINE_SIZE];
	char number[FILE_SIZE];
	char file[FILE_SIZE];

	(void)strbuf_format(number, sizeof(number), "%d", waiter);
	if (!proctable_find("/proc/locks", FIELD_WAITER, number, row))
		return 0;

	const char *const waited_for = proctable_field(row, FIELD_WAITERS_FILE);

	(void)strbuf_format(file, sizeof(file), " %.*s ",
	                    (int)strcspn(waited_for, " "), waited_for);
	(void)strbuf_format(number, sizeof(number), "%.*s",
	                    (int)strcspn(row, " "), row);
	if (!proctable_find("/proc/locks", FIELD_NUMBER, number, row))
		return 0;

	const bool is_flock =
	    strncmp(proctable_field(row, FIELD_TYPE), "FLOCK", 5) == 0;
	const pid_t owner =
	    (pid_t)text_number(proctable_field(row, FIELD_PID), DECIMAL);

	if (owner > 0 && holds(owner, file))
		return owner;
	for (size_t i = 0; i < list->count && is_flock; i++) {
		if (holds(list->entries[i].pid, file))
			return list->entries[i].pid;
	}
	return 0;
}
