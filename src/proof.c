/*
 * Telling the processes of a run from all others. A process has to fail no
 * test: those of is_suspect (prooflook.c) and of admit are for each, and one of
 * the rules below, from A to E, has to hold.
 */
#include "proof.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "procfs.h"
#include "prooflook.h"

#define FIRST_PID 1

/* Who has the PID of the target now, which is the number of its session. */
enum leader {
	LEADER_IS_TARGET,
	LEADER_IS_GONE,
	LEADER_IS_OTHER, /* or cannot be told */
};

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

/* There is evidence that SUSPECT is of the run. Returns whether that is news,
 * and makes it one of those that are to end. */
static bool
admit(const struct lineup *lineup, struct suspect *suspect)
{
	if (suspect->standing == STANDING_PROVEN)
		lineup->on_sight(suspect);
	if (suspect->standing != STANDING_STRANGER &&
	    suspect->standing != STANDING_UNPROVEN)
		return false;
	if (is_above(suspect->identity.pid)) {
		suspect->standing = STANDING_ABOVE;
	} else if (!suspect->is_own) {
		suspect->standing = STANDING_FOREIGN;
	} else {
		suspect->standing = STANDING_PROVEN;
		suspect->is_new = true;
		lineup->on_sight(suspect);
	}
	return suspect->is_new;
}

/*
 * Looked at after the suspects. As long as a session has members, the kernel
 * does not give its number to a new process (__change_pid() keeps the struct
 * pid): so if the target has it now, it had it when they were read, and if
 * another has it, the target's session has no member left.
 */
static enum leader
look_at_leader(const struct entry *entry)
{
	const pid_t pid = entry->target.pid;
	struct procfs_stat stat;

	if (!entry->has_session || pid <= FIRST_PID)
		return LEADER_IS_OTHER;
	if (procfs_read_stat(pid, &stat) == 0)
		return stat.start == entry->target.start ? LEADER_IS_TARGET
		                                         : LEADER_IS_OTHER;
	/* It may be there and hidden: "hidepid", proc(5). */
	if (kill(pid, 0) == -1 && errno == ESRCH)
		return LEADER_IS_GONE;
	return LEADER_IS_OTHER;
}

/* Whether a proven process is in the session with the target's number. */
static bool
has_proven_member(const struct lineup *lineup)
{
	for (size_t i = 0; i < lineup->now.count; i++) {
		const struct suspect *const suspect = &lineup->now.entries[i];

		if (suspect->session == lineup->entry->target.pid &&
		    suspect->standing == STANDING_PROVEN)
			return true;
	}
	return false;
}

/*
 * Rule B: it is in the session that the target leads, dead or alive. Rule C:
 * the target is gone altogether, but the session with its number is the run's
 * all the same, since a process that rule A proves is in it. Else the number
 * may have gone to a stranger meanwhile, who died and left the session behind.
 */
static void
admit_by_session(const struct lineup *lineup)
{
	const enum leader leader = look_at_leader(lineup->entry);

	if (leader == LEADER_IS_OTHER)
		return;

	const bool is_certain =
	    leader == LEADER_IS_TARGET || has_proven_member(lineup);

	for (size_t i = 0; i < lineup->now.count; i++) {
		struct suspect *const suspect = &lineup->now.entries[i];

		if (suspect->session != lineup->entry->target.pid)
			continue;
		if (is_certain)
			(void)admit(lineup, suspect);
		else if (suspect->standing == STANDING_STRANGER)
			suspect->standing = STANDING_UNPROVEN;
	}
}

/* Rule D: its parent is proven, and still lives, so that the PID of the parent
 * was not another's when the child was read. */
static bool
has_proven_parent(const struct lineup *lineup, const struct suspect *suspect)
{
	const struct suspect *const parent =
	    proof_find(&lineup->now, suspect->parent);

	return parent != NULL && parent->standing == STANDING_PROVEN &&
	       identity_is_alive(&parent->identity);
}

/* When the run ID began, and the PID of its FRONT; 0 where that is no ID. */
static uint64_t
moment_of(const char *id, pid_t *front)
{
	char *end;

	if (!isdigit((unsigned char)*id))
		return 0;

	const long pid = strtol(id, &end, 10);

	if (*end != '-' || !isxdigit((unsigned char)end[1]))
		return 0;

	const uint64_t moment = strtoull(end + 1, &end, 16);

	*front = (pid_t)pid;
	return *end == '\0' ? moment : 0;
}

/*
 * Whether a run with the ID of SUSPECT, a process of ours, may be one within
 * ours. One that began earlier is not: a process of ours may have been given
 * the environment of the run that ours is in. Nor is one whose front lives and
 * is not proven: that is a run of its own.
 */
static bool
is_nested(const struct lineup *lineup, const struct suspect *suspect)
{
	pid_t front = 0;
	const uint64_t ours = moment_of(lineup->entry->id, &front);
	const uint64_t others = moment_of(suspect->id, &front);
	const struct suspect *const watcher = proof_find(&lineup->now, front);

	return ours != 0 && others > ours &&
	       (watcher == NULL || watcher->standing == STANDING_PROVEN);
}

/* Rule E: it is of a run within the run, to which a proven process belongs. */
static bool
has_proven_peer(const struct lineup *lineup, const struct suspect *suspect)
{
	if (suspect->id[0] == '\0' || !is_nested(lineup, suspect))
		return false;
	for (size_t i = 0; i < lineup->now.count; i++) {
		const struct suspect *const other = &lineup->now.entries[i];

		if (other->standing == STANDING_PROVEN &&
		    strcmp(other->id, suspect->id) == 0)
			return true;
	}
	return false;
}

/* Rules D and E, which go on from what is proven already. Returns whether they
 * proved anything. */
static bool
admit_by_others(const struct lineup *lineup)
{
	bool is_news = false;

	for (size_t i = 0; i < lineup->now.count; i++) {
		struct suspect *const suspect = &lineup->now.entries[i];

		if (suspect->standing != STANDING_PROVEN &&
		    (has_proven_parent(lineup, suspect) ||
		     has_proven_peer(lineup, suspect)))
			is_news |= admit(lineup, suspect);
	}
	return is_news;
}

/* Rule A, that it carries the run's ID, and rule D, before it can go on. */
void
proof_judge(struct lineup *lineup, struct suspect *suspect)
{
	if (suspect->standing == STANDING_PROVEN ||
	    strcmp(suspect->id, lineup->entry->id) == 0 ||
	    has_proven_parent(lineup, suspect))
		(void)admit(lineup, suspect);
}

int
proof_read(struct lineup *lineup)
{
	const struct suspects last = lineup->now;

	lineup->now = lineup->before;
	lineup->now.count = 0;
	lineup->before = last;
	lineup->unseen = 0;
	if (proof_look(lineup) == -1)
		return -1;
	admit_by_session(lineup);
	while (admit_by_others(lineup))
		;
	return 0;
}

void
proof_release(struct lineup *lineup)
{
	free(lineup->now.entries);
	free(lineup->before.entries);
	*lineup = (struct lineup){ .entry = lineup->entry };
}
