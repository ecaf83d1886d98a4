/* Telling the processes of a run from all others. */
#include "registry/match.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/text.h"
#include "proc/procfs.h"
#include "proc/procstat.h"

#define INIT      1 /* PIDs */
#define KTHREADD  2
#define READS_MAX 4

/* The time from a target's start to its entry, and the difference between the
 * clocks of processes and of files, are at most these. */
#define TIME_TO_WRITE (5 * SECOND)
#define TOLERANCE     (3 * SECOND)

/* --- the list ------------------------------------------------------------- */

static int
by_pid(const void *left, const void *right)
{
	const struct candidate *const a = left;
	const struct candidate *const b = right;

	return (a->procid.pid > b->procid.pid) -
	       (a->procid.pid < b->procid.pid);
}

/* Returns the candidate that has PID, or NULL. */
static struct candidate *
find(const struct candidates *candidates, pid_t pid)
{
	const struct candidate key = { .procid.pid = pid };

	if (candidates->count == 0)
		return NULL;
	return bsearch(&key, candidates->entries, candidates->count,
	               sizeof(key), by_pid);
}

/* --- reading what a process is -------------------------------------------- */

static const struct procid *
first_watcher(const struct entry *entry)
{
	return entry->front.pid > 0 ? &entry->front : &entry->supervisor;
}

/* Whether the process of STAT was started before the run's watchers. Such a
 * process does not belong to the run, even if it has executed a program with
 * the run's environment since. */
static bool
is_older(const struct entry *entry, const struct procstat *stat)
{
	return stat->start != 0 && stat->start < first_watcher(entry)->start;
}

/* Whether SESSION is older than the run: it has a process older than the run,
 * of those that this scan has met so far, or the ID 0, which each session has
 * that began outside this PID namespace (pid_vnr()). -1: it is unknown. */
static bool
is_older_session(const struct match *match, pid_t session)
{
	if (!match->entry->has_session || session == -1)
		return false;
	return session == 0 || numbers_have(&match->older_sessions, session);
}

static int
read_id_of_thread(pid_t tid, void *context)
{
	struct candidate *const candidate = context;

	return runid_read(tid, candidate->id) ? -1 : 0;
}

/* Reads the WDRUN_ID of CANDIDATE; where the main thread has exited, from
 * another thread. A kernel thread has no ID: its parent is kthreadd, and its
 * process group 0. Returns 0; or -1 with errno: EAGAIN where CANDIDATE may have
 * an ID, but is in the middle of execve(2) or exit(2). */
static int
read_id(struct candidate *candidate, struct procstat stat)
{
	const pid_t pid = candidate->procid.pid;

	if (stat.state == 'Z') {
		(void)procfs_visit_threads(pid, read_id_of_thread, candidate);
		return 0;
	}
	for (int i = 0; i < READS_MAX; i++) {
		if (runid_read(pid, candidate->id) || errno == 0)
			return 0;
		if (errno != EAGAIN && errno != ENOENT && errno != ESRCH)
			return -1;
		if (procstat_read(pid, &stat) == -1)
			return -1;
		if ((stat.group == 0 && stat.parent <= KTHREADD) ||
		    stat.has_empty_environment)
			return 0;
		errno = ESRCH;
		if (procstat_is_dead(&stat))
			return -1;
		(void)poll(NULL, 0, 1);
	}
	errno = EAGAIN;
	return -1;
}

/* Reads whether CANDIDATE is this user's, and then its ID. Where another
 * process has got the PID meanwhile, the start time prevents a signal
 * (procid_kill()). The memory of another user's process is not read: that user
 * could make the reader wait (userfaultfd(2), a file system that does not
 * answer). Returns 0, or -1 with errno. */
static int
read_owner_and_id(struct candidate *candidate, const struct procstat *stat)
{
	struct procfs_status status;

	if (procfs_read_status(candidate->procid.pid, &status) == -1)
		return -1;
	candidate->is_own = status.user == geteuid();
	errno = ETIMEDOUT;
	if (!candidate->is_own)
		return 0;
	candidate->is_read = stat->start != 0 && read_id(candidate, *stat) == 0;
	if (candidate->is_read)
		return 0;
	candidate->is_stuck = errno == ETIMEDOUT;
	return candidate->is_stuck ? 0 : -1;
}

/* --- the rules ------------------------------------------------------------ */

/* Whether PID is this process, or an ancestor of it that /proc shows. */
static bool
is_ancestor(pid_t pid)
{
	struct procstat stat;

	for (pid_t at = getpid(); at > 0; at = stat.parent) {
		if (at == pid)
			return true;
		if (procstat_read(at, &stat) == -1)
			return false;
	}
	return false;
}

/* Notes that a rule proves CANDIDATE. Returns whether CANDIDATE is newly
 * proven, and so may prove other processes. */
static bool
admit(const struct match *match, struct candidate *candidate)
{
	const bool was_proven = candidate->result == MATCH_PROVEN;

	if (candidate->result == MATCH_NONE ||
	    candidate->result == MATCH_UNPROVEN)
		candidate->result = is_ancestor(candidate->procid.pid)
		                        ? MATCH_ANCESTOR
		                    : candidate->is_own ? MATCH_PROVEN
		                                        : MATCH_OTHER_USER;
	if (candidate->result != MATCH_PROVEN)
		return false;
	candidate->is_new |= !was_proven;
	match->on_proven(candidate, match->context);
	return !was_proven;
}

/* Whether the process of STAT started just before the entry was written, as the
 * target did, which wrote it. A forged entry may name another process. */
static bool
has_written(const struct entry *entry, const struct procstat *stat)
{
	const int64_t started_at = duration_since_epoch() - procstat_age(stat);

	return started_at <= entry->written_at + TOLERANCE &&
	       started_at >= entry->written_at - TIME_TO_WRITE;
}

/*
 * Whether the session with the supervisor's PID as its ID is the run's: 1 or
 * -1; 0 where only a proven member can tell. The run's target in that session
 * proves it, alive or as a zombie: no process can join an existing session
 * (setsid(2)). So does a zombie of the supervisor.
 *
 * Called after the processes were read. As long as a session has members, the
 * kernel gives its ID to no new process (__change_pid() keeps the struct pid).
 * So if another process has the ID as its PID now, no member of the run's
 * session is left. A process that /proc may hide ("hidepid", proc(5)) counts as
 * another process.
 */
static int
is_session_of_run(const struct entry *entry)
{
	const pid_t session = entry->supervisor.pid;
	struct procstat stat;

	if (!entry->has_session || session <= INIT)
		return -1;
	if (procstat_read(entry->target.pid, &stat) == 0 &&
	    stat.start == entry->target.start && stat.session == session)
		return has_written(entry, &stat);
	if (procstat_read(session, &stat) == 0)
		return stat.start != entry->supervisor.start
		           ? -1
		           : has_written(entry, &stat);
	return kill(session, 0) == -1 && errno == ESRCH ? 0 : -1;
}

/* Rules B and C. Without the target and without a proven member, the session
 * may be a later session with the same ID, whose leader has exited. */
static void
admit_by_session(const struct match *match)
{
	const struct candidates *const now = &match->now;
	const pid_t session = match->entry->supervisor.pid;
	const int is_ours = is_session_of_run(match->entry);
	bool is_certain = is_ours == 1;

	if (is_ours == -1)
		return;
	for (size_t i = 0; i < now->count; i++)
		is_certain |= now->entries[i].session == session &&
		              now->entries[i].result == MATCH_PROVEN;
	for (size_t i = 0; i < now->count; i++) {
		struct candidate *const candidate = &now->entries[i];

		if (candidate->session != session)
			continue;
		if (is_certain)
			(void)admit(match, candidate);
		else if (candidate->result == MATCH_NONE)
			candidate->result = MATCH_UNPROVEN;
	}
}

/* Whether PARENT is alive, so that no other process had its PID when its child
 * was read. Where its start is unknown, it counts as alive. */
static bool
is_alive(const struct candidate *parent)
{
	return parent->procid.start == 0 ||
	       procid_state_of(&parent->procid) == PROCID_ALIVE;
}

/* Rule D. */
static bool
has_proven_parent(const struct match *match, const struct candidate *candidate)
{
	const struct candidate *const parent =
	    find(&match->now, candidate->parent);

	return parent != NULL && parent->result == MATCH_PROVEN &&
	       is_alive(parent);
}

/* Returns the start of the run ID in nanoseconds since the epoch, and in *FRONT
 * the PID of its front; or 0 where ID is not the ID of a run. */
static uint64_t
start_of(const char *id, pid_t *front)
{
	uint64_t pid = 0;
	uint64_t start = 0;
	const char *end = text_read_number(id, DECIMAL, &pid);

	if (end == NULL || *end != '-')
		return 0;
	end = text_read_number(end + 1, HEXADECIMAL, &start);
	*front = (pid_t)pid;
	return end != NULL && *end == '\0' ? start : 0;
}

/* Rule E. A run that began before the run on record is not within it, although
 * a process of the run on record may have such an outer run's ID. Nor is a run
 * within it whose front is alive and not proven. */
static bool
has_proven_peer(const struct match *match, const struct candidate *candidate)
{
	pid_t front = 0;
	const uint64_t ours = start_of(match->entry->id, &front);
	const uint64_t others = start_of(candidate->id, &front);
	const struct candidate *const watcher = find(&match->now, front);

	if (ours == 0 || others <= ours ||
	    (watcher != NULL && watcher->result != MATCH_PROVEN))
		return false;
	for (size_t i = 0; i < match->now.count; i++) {
		const struct candidate *const other = &match->now.entries[i];

		if (other->result == MATCH_PROVEN &&
		    strcmp(other->id, candidate->id) == 0)
			return true;
	}
	return false;
}

/* Rules D and E, for all processes. Returns whether a process is newly proven,
 * and so may prove others. */
static bool
admit_by_others(const struct match *match)
{
	bool has_proven = false;

	for (size_t i = 0; i < match->now.count; i++) {
		struct candidate *const candidate = &match->now.entries[i];

		if (candidate->result != MATCH_PROVEN &&
		    (has_proven_parent(match, candidate) ||
		     has_proven_peer(match, candidate)))
			has_proven |= admit(match, candidate);
	}
	return has_proven;
}

static bool
is_unread(const struct candidate *candidate)
{
	return candidate->is_stuck || candidate->is_between;
}

/* Whether PARENT, NULL for an older process, may be what has adopted a process
 * of the run. A process that started within the same tick as the watchers may
 * be their ancestor. */
static bool
may_adopt(const struct match *match, const struct candidate *parent)
{
	return parent == NULL ||
	       parent->procid.start <= first_watcher(match->entry)->start ||
	       !is_alive(parent);
}

/* Whether CANDIDATE cannot be read, and may belong to the run: goes from parent
 * to parent, up to a process that tells. */
static bool
may_belong(const struct match *match, const struct candidate *candidate)
{
	const struct candidate *at = candidate;

	if (!is_unread(candidate))
		return false;
	if (candidate->result != MATCH_NONE)
		return candidate->result == MATCH_UNPROVEN;
	for (size_t i = 0; i < match->now.count && is_unread(at); i++) {
		if (is_older_session(match, at->session))
			return false;
		at = find(&match->now, at->parent);
		if (may_adopt(match, at) || at->result != MATCH_NONE)
			return true;
	}
	return !at->is_read;
}

/* Notes which processes may belong to the run, and counts what has to be looked
 * at again. */
static void
note_unread(struct match *match)
{
	for (size_t i = 0; i < match->now.count; i++) {
		struct candidate *const candidate = &match->now.entries[i];

		candidate->may_belong = may_belong(match, candidate);
		match->unseen += candidate->is_between && candidate->may_belong;
		match->stuck +=
		    candidate->is_stuck &&
		    (candidate->may_belong || candidate->result != MATCH_NONE);
	}
}

/* --- the scan ------------------------------------------------------------- */

/* Returns what the scan before noted of PROCESS; or NULL where PROCESS is new,
 * or has to be looked at again. */
static const struct candidate *
recall(const struct candidates *before, const struct procid *process)
{
	const struct candidate *const known = find(before, process->pid);

	if (known == NULL || known->procid.start != process->start ||
	    (known->result == MATCH_NONE && !known->is_stuck) ||
	    known->result == MATCH_UNPROVEN)
		return NULL;
	return known;
}

/* What visit() returns where a process cannot be read because of errno WHY.
 * EPERM and EACCES: /proc hides the process. */
static int
result_for(int why)
{
	if (why == ENOENT || why == ESRCH)
		return PROCFS_GONE;
	return why == EPERM || why == EACCES || why == EAGAIN ? 0 : -1;
}

/* As procstat_read(). If the read times out, fills in what "status" and
 * getsid(2) tell, and 0 as the start. Later scans skip "stat" while PID may
 * block. */
static int
read_stat(const struct match *match, pid_t pid, struct procstat *stat)
{
	const struct candidate *const known = find(&match->before, pid);
	struct procfs_status status;

	if (known == NULL || known->procid.start != 0 ||
	    !procfs_may_block(pid)) {
		const int result = procstat_read(pid, stat);

		if (result == 0 || errno != ETIMEDOUT)
			return result;
	}
	if (procfs_read_status(pid, &status) == -1)
		return -1;
	*stat = (struct procstat){ .state = status.state,
		                   .parent = status.parent,
		                   .session = getsid(pid) };
	return 0;
}

/* Reads all that is needed of PID at once, and applies the rules A and D: of
 * processes that fork and exit time and again, PID is gone a moment later. */
static int
visit(pid_t pid, void *context)
{
	struct match *const match = context;
	struct procstat stat;

	if (read_stat(match, pid, &stat) == -1)
		return result_for(errno);
	if (is_older(match->entry, &stat)) {
		(void)numbers_add(&match->older_sessions, stat.session);
		return 0;
	}
	if (procstat_is_dead(&stat))
		return PROCFS_GONE;

	struct candidate candidate = { .procid = { pid, stat.start } };
	const struct candidate *const known =
	    recall(&match->before, &candidate.procid);

	if (known != NULL) {
		candidate = *known;
	} else if (is_older_session(match, stat.session)) {
		candidate.is_read = true; /* its ID would prove nothing */
	} else if (read_owner_and_id(&candidate, &stat) == -1) {
		const int result = result_for(errno);

		candidate.is_between = errno == EAGAIN;
		if (result != 0)
			return result;
	}
	candidate.is_new = false;
	candidate.parent = stat.parent;
	candidate.session = stat.session;
	candidate.state = stat.state;
	if (candidate.result == MATCH_PROVEN ||
	    strcmp(candidate.id, match->entry->id) == 0 ||
	    has_proven_parent(match, &candidate))
		(void)admit(match, &candidate);

	struct candidates *const now = &match->now;
	void *const entries = array_grow(now->entries, now->count,
	                                 &now->capacity, sizeof(candidate));

	if (entries == NULL)
		return -1;
	now->entries = entries;
	now->entries[now->count++] = candidate;
	return 0;
}

int
match_scan(struct match *match)
{
	const struct candidates last = match->now;

	match->now = match->before;
	match->now.count = 0;
	match->before = last;
	match->unseen = 0;
	match->stuck = 0;
	match->older_sessions.count = 0;
	if (procfs_visit_all(visit, match) == -1)
		return -1;
	admit_by_session(match);
	while (admit_by_others(match))
		;
	note_unread(match);
	return 0;
}

void
match_free(struct match *match)
{
	array_free(match->now.entries,
	           match->now.capacity * sizeof(struct candidate));
	array_free(match->before.entries,
	           match->before.capacity * sizeof(struct candidate));
	numbers_free(&match->older_sessions);
}
