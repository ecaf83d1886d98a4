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
#define STAT_SIZE      1024

/* In a stat file, as proc(5) counts: where the environment begins; where it
 * ends comes next. */
#define FIELD_STATE       3
#define FIELD_ENVIRONMENT 50

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

	return stat->start >= first->start;
}

/*
 * Whether PID was started with an empty environment. Within an execve(2) it has
 * none yet, and that has no end: environ_read() in the kernel.
 */
static bool
is_bare(pid_t pid)
{
	char text[STAT_SIZE];
	char *end;

	if (procfs_read(pid, "stat", text, sizeof(text)) <= 0)
		return false;

	/* The name may hold blanks and parentheses: it ends at the last one. */
	const char *at = strrchr(text, ')');

	for (int i = FIELD_STATE; at != NULL && i <= FIELD_ENVIRONMENT; i++)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return false;

	const uint64_t begin = strtoull(at, &end, 10);

	return begin != 0 && begin == strtoull(end, NULL, 10);
}

static int
visit_thread(pid_t tid, void *context)
{
	struct suspect *const suspect = context;

	return environment_read_id(tid, suspect->id) ? -1 : 0;
}

/*
 * Reads the run's ID of SUSPECT; where its main thread has exited, from another
 * one. One of the kernel's own, a child of kthreadd in no process group, has
 * none. Returns 0; or -1 with errno: EAGAIN where it may have one that could
 * not be seen, being within an execve(2), or one that is about to be dead.
 */
static int
read_id(struct suspect *suspect, bool has_group)
{
	const pid_t pid = suspect->identity.pid;
	struct procfs_stat stat;

	if (suspect->state == 'Z') {
		(void)procfs_visit_threads(pid, visit_thread, suspect);
		return 0;
	}
	for (int i = 0; i < LOOKS; i++) {
		if (environment_read_id(pid, suspect->id) || errno == 0)
			return 0;
		if (errno != EAGAIN && errno != ENOENT && errno != ESRCH)
			return -1;
		if (!has_group || is_bare(pid))
			return 0;
		if (procfs_read_stat(pid, &stat) == -1)
			return -1;
		errno = ESRCH;
		if (procfs_is_dead(&stat))
			return -1;
		(void)poll(NULL, 0, 1);
	}
	errno = EAGAIN;
	return -1;
}

/*
 * What was not needed to pick SUSPECT. If its PID is another's by now, nothing
 * happens to that: a signal looks at the moment of its start again. The memory
 * of others is not read, which they could make wait for them (userfaultfd(2),
 * a file system of theirs that does not answer). Returns 0, or -1 with errno.
 */
static int
look_closer(struct suspect *suspect, bool has_group)
{
	struct procstatus status;

	if (procstatus_read(suspect->identity.pid, &status) == -1)
		return -1;
	suspect->is_own = status.user == geteuid();
	return suspect->is_own ? read_id(suspect, has_group) : 0;
}

/* What ERRNO tells of a process that could not be looked at, as the result of
 * a procfs_visit; 0 where it is hidden. */
static int
result_of(int why)
{
	if (why == ENOENT || why == ESRCH)
		return PROCFS_GONE;
	return why == EPERM || why == EACCES ? 0 : -1;
}

/* What the sweep before knew of PROCESS, if that is not to be found out again;
 * or NULL. */
static const struct suspect *
recall(const struct suspects *before, const struct identity *process)
{
	const struct suspect *const known = proof_find(before, process->pid);

	return known == NULL || known->identity.start != process->start ||
	               known->standing == STANDING_STRANGER ||
	               known->standing == STANDING_UNPROVEN
	           ? NULL
	           : known;
}

/* Looks at PID at once in all ways that it takes: what forks and exits, time
 * and again, is gone a moment later. */
static int
visit(pid_t pid, void *context)
{
	struct lineup *const lineup = context;
	struct procfs_stat stat;

	if (procfs_read_stat(pid, &stat) == -1)
		return result_of(errno);
	if (!is_suspect(lineup->entry, &stat))
		return 0;
	if (procfs_is_dead(&stat))
		return PROCFS_GONE;

	struct suspect suspect = { .identity = { pid, stat.start } };
	const struct suspect *const known =
	    recall(&lineup->before, &suspect.identity);

	if (known != NULL)
		suspect = *known;
	suspect.is_new = false;
	suspect.parent = stat.parent;
	suspect.session = stat.session;
	suspect.state = stat.state;
	if (known == NULL &&
	    look_closer(&suspect, stat.group != 0 || stat.parent > KTHREADD) ==
	        -1) {
		const int result = errno == EAGAIN ? 0 : result_of(errno);

		lineup->unseen += errno == EAGAIN;
		if (result != 0)
			return result;
	}
	proof_judge(lineup, &suspect);
	return append(&lineup->now, &suspect);
}

int
proof_look(struct lineup *lineup)
{
	return procfs_visit_all(visit, lineup);
}
