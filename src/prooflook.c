/* Looking at all processes that may be of a run, before what they prove. */
#include "prooflook.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "procfs.h"
#include "procstatus.h"

#define FIRST_CAPACITY 64
#define LOOKS          4
#define KTHREADD       2

static int
by_pid(const void *left, const void *right)
{
	const struct suspect *const a = left;
	const struct suspect *const b = right;

	return (a->identity.pid > b->identity.pid) -
	       (a->identity.pid < b->identity.pid);
}

struct suspect *
proof_find(const struct suspects *suspects, pid_t pid)
{
	const struct suspect key = { .identity.pid = pid };

	if (suspects->count == 0)
		return NULL;
	return bsearch(&key, suspects->entries, suspects->count, sizeof(key),
	               by_pid);
}

static int
append(struct suspects *suspects, const struct suspect *suspect)
{
	if (suspects->count == suspects->capacity) {
		const size_t capacity = suspects->capacity == 0
		                            ? FIRST_CAPACITY
		                            : 2 * suspects->capacity;
		struct suspect *const entries =
		    realloc(suspects->entries, capacity * sizeof(*entries));

		if (entries == NULL)
			return -1;
		suspects->entries = entries;
		suspects->capacity = capacity;
	}
	suspects->entries[suspects->count++] = *suspect;
	return 0;
}

/*
 * Nothing of a run is older than its watchers: so a PID on record that was
 * given away again before they began, or a process that was handed the run's
 * environment later, is none of it.
 */
static bool
is_suspect(const struct entry *entry, const struct procfs_stat *stat)
{
	const struct identity *const first =
	    entry->front.pid > 0 ? &entry->front : &entry->supervisor;

	return stat->start >= first->start && !procfs_is_dead(stat);
}

/* Whether ERRNO tells that a process is gone, or hidden; else that it could not
 * be looked at. */
static bool
is_answer(int why)
{
	return why == ENOENT || why == ESRCH || why == EPERM || why == EACCES;
}

/*
 * Reads the run's ID of SUSPECT. Within an execve(2) it has no environment, and
 * who was started with an empty one never has: that takes some looks. One of
 * the kernel's own, a child of kthreadd in no process group, has none either.
 * Returns 0; or -1 with errno: EAGAIN where it may have one that could not be
 * seen.
 */
static int
read_id(struct suspect *suspect, bool has_group)
{
	const pid_t pid = suspect->identity.pid;
	struct procfs_stat stat;

	for (int i = 0; i < LOOKS; i++) {
		if (environment_read_id(pid, suspect->id) || errno == 0 ||
		    !has_group)
			return 0;
		if (errno != EAGAIN)
			return -1;
		if (procfs_read_stat(pid, &stat) == -1)
			return -1;
		if (procfs_is_dead(&stat)) {
			errno = ESRCH;
			return -1;
		}
		(void)poll(NULL, 0, 1);
	}
	errno = EAGAIN;
	return stat.state == 'R' || stat.state == 'D' ? -1 : 0;
}

/*
 * What was not needed to pick SUSPECT. If its PID is another's by now, nothing
 * happens to that: a signal looks at the moment of its start again. The memory
 * of others is not read, which they could make wait for them (userfaultfd(2),
 * a file system of theirs that does not answer). Returns 0, or -1 with errno.
 */
static int
look_closer(struct lineup *lineup, struct suspect *suspect, bool has_group)
{
	struct procstatus status;

	if (procstatus_read(suspect->identity.pid, &status) == 0) {
		suspect->is_own = status.user == geteuid();
		if (!suspect->is_own || read_id(suspect, has_group) == 0)
			return 0;
	}
	if (errno != EAGAIN && !is_answer(errno))
		return -1;
	/* What cannot be read for good is no reason to look again. */
	if (errno != EPERM && errno != EACCES)
		lineup->missed++;
	return 0;
}

/* Whether PID is this process, or one above it, as far as these can be seen. */
static bool
is_above(pid_t pid)
{
	struct procfs_stat stat;

	for (pid_t at = getpid(); at > 0; at = stat.parent) {
		if (at == pid)
			return true;
		if (procfs_read_stat(at, &stat) == -1)
			return false;
	}
	return false;
}

/* Looks at PID at once in all ways that it takes: what forks and exits, time
 * and again, is gone a moment later. */
static int
visit(pid_t pid, void *context)
{
	struct lineup *const lineup = context;
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1) {
		lineup->missed += errno == ENOENT || errno == ESRCH;
		return is_answer(errno) ? 0 : -1;
	}
	if (!is_suspect(lineup->entry, &stat))
		return 0;

	struct suspect suspect = {
		.identity = { pid, stat.start },
		.parent = stat.parent,
		.session = stat.session,
		.state = stat.state,
		.is_new = true,
	};

	if (look_closer(lineup, &suspect,
	                stat.group != 0 || stat.parent > KTHREADD) == -1)
		return -1;
	/* Rule A, before it can go on. */
	if (suspect.is_own && strcmp(suspect.id, lineup->entry->id) == 0 &&
	    lineup->on_sight != NULL && suspect.state != 'T' && !is_above(pid))
		suspect.got_stop = lineup->on_sight(&suspect.identity);
	return append(&lineup->now, &suspect);
}

int
proof_look(struct lineup *lineup)
{
	struct suspects *const now = &lineup->now;

	if (procfs_visit_all(visit, lineup) == -1)
		return -1;
	if (now->count > 1)
		qsort(now->entries, now->count, sizeof(now->entries[0]),
		      by_pid);
	return 0;
}
