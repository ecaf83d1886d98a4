/* Kills the orphans of a run by SIGKILL, without a grace period, as a watcher
 * does when the other watcher was killed. */
#include "registry/orphans.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/strbuf.h"
#include "proc/cmdline.h"
#include "proc/pidfd.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "registry/match.h"

#define FREEZE_BOUND       (8 * SECOND)
#define FREEZE_AGAIN_BOUND (1 * SECOND) /* after the first SIGKILL */
#define KILL_BOUND         (4 * SECOND) /* after the freeze */
#define STATE_D_BOUND      (1 * SECOND)
#define SCANS_MIN          16 /* in the time of each bound */
#define PAUSE_MS           2
#define PAUSE_MAX_MS       50
#define NAMED_MAX          8  /* processes that a message names */
#define COMMAND_WIDTH      60 /* of their command lines */

/* How far the end of a run's processes has got. */
struct ending {
	struct match match;
	struct orphans *orphans;
	struct strbuf killed_text; /* of orphans */
	size_t named;              /* in killed_text */
	int64_t freeze_end;
	int scans_left;  /* a bound is over after these, too */
	bool was_frozen; /* all proven processes were, before the last scan */
	bool has_killed;
	bool is_unsure; /* processes that were not found may be left */
};

/* Appends "4711 sleep 1000", or "4711 [sleep]" for a process in state D, whose
 * command line may take for ever to read. */
static void
add_process(struct strbuf *line, const struct candidate *candidate)
{
	strbuf_addf(line, "%s%d ", line->length == 0 ? "" : ", ",
	            candidate->procid.pid);
	cmdline_add(line, candidate->procid.pid,
	            candidate->state == 'D' ? 0 : COMMAND_WIDTH);
}

/* Whether CANDIDATE seems to hang in execve(2): then the process has one
 * thread, does not fork, and dies of SIGKILL when the call ends. */
static bool
is_in_exec(const struct candidate *candidate)
{
	return candidate->procid.start == 0;
}

/* --- freezing ------------------------------------------------------------- */

/* Stops CANDIDATE, and notes that at once, as the next read of a process may
 * hang. What was stopped already is not noted, and so not continued later. */
static void
stop(const struct candidate *candidate, void *context)
{
	struct orphans *const orphans = context;

	if (candidate->state != 'T' && !candidate->got_kill &&
	    !is_in_exec(candidate) &&
	    orphans->stopped_count < ORPHANS_STOPPED_MAX &&
	    procid_kill(&candidate->procid, SIGSTOP) == 0)
		orphans->stopped[orphans->stopped_count++] = candidate->procid;
}

/* Whether a thread in STATE, whose process has got SIGSTOP, does not fork.
 * State D may be the end of a fork(2), which SIGSTOP does not prevent; but also
 * a wait for the end of a vfork(2), or for a device that never answers. So with
 * WITH_D, after STATE_D_BOUND, state D counts too. */
static bool
is_frozen_state(char state, bool with_d)
{
	return strchr("TtZX", state) != NULL || (state == 'D' && with_d);
}

struct threads {
	long frozen;
	bool with_d;
};

static int
count_frozen(pid_t tid, void *context)
{
	struct threads *const threads = context;
	struct procstat stat;

	threads->frozen += procstat_read(tid, &stat) == 0 &&
	                   is_frozen_state(stat.state, threads->with_d);
	return 0;
}

/* Whether all threads of PROCESS are frozen, or PROCESS is dead. The number of
 * threads is read last: a running thread may have made another thread. */
static bool
is_frozen(const struct procid *process, bool with_d)
{
	struct threads threads = { .with_d = with_d };
	struct procstat stat;

	(void)procfs_visit_threads(process->pid, count_frozen, &threads);
	if (procstat_read(process->pid, &stat) == -1)
		return errno == ENOENT || errno == ESRCH;
	return stat.start != process->start || procstat_is_dead(&stat) ||
	       stat.threads == threads.frozen;
}

/* Waits until all proven processes, which stop() has stopped, are frozen.
 * Returns whether all are. */
static bool
await_freeze(const struct ending *ending)
{
	const struct candidates *const now = &ending->match.now;
	const int64_t d_end = duration_now() + STATE_D_BOUND;

	for (size_t i = 0; i < now->count; i++) {
		const struct candidate *const candidate = &now->entries[i];

		if (candidate->result != MATCH_PROVEN || candidate->got_kill ||
		    is_in_exec(candidate))
			continue;
		while (
		    !is_frozen(&candidate->procid, duration_now() >= d_end)) {
			if (duration_now() >= ending->freeze_end)
				return false;
			(void)poll(NULL, 0, 1);
		}
	}
	return true;
}

/* --- killing -------------------------------------------------------------- */

/* Names the first proven processes before SIGKILL, while their command lines
 * can be read. */
static void
name_proven(struct ending *ending)
{
	const struct candidates *const now = &ending->match.now;

	for (size_t i = 0; i < now->count && ending->named < NAMED_MAX; i++) {
		if (now->entries[i].result != MATCH_PROVEN ||
		    is_in_exec(&now->entries[i]))
			continue;
		add_process(&ending->killed_text, &now->entries[i]);
		ending->named++;
	}
}

/* Kills CANDIDATE, which is proven. Where its start is unknown, parent and
 * session have to be the same still, as read after a pidfd was opened. Returns
 * 0, or -1. */
static int
kill_candidate(const struct candidate *candidate)
{
	const pid_t pid = candidate->procid.pid;
	struct procfs_status status;

	if (!is_in_exec(candidate))
		return procid_kill(&candidate->procid, SIGKILL);

	const int fd = pidfd_open(pid);
	const int result = fd != -1 && procfs_read_status(pid, &status) == 0 &&
	                           status.parent == candidate->parent &&
	                           getsid(pid) == candidate->session
	                       ? pidfd_send_signal(fd, SIGKILL)
	                       : -1;

	fds_close(fd);
	return result;
}

/* Kills the youngest process first. The end of a process may orphan process
 * groups of its descendants, whose stopped processes the kernel then continues
 * (kill_orphaned_pgrp()): these have to get SIGKILL before. PIDs rise from the
 * oldest process on, up to where PIDs begin anew. */
static void
kill_proven(struct ending *ending)
{
	struct candidates *const now = &ending->match.now;
	size_t oldest = 0;

	if (!ending->has_killed)
		name_proven(ending);
	for (size_t i = 0; i < now->count; i++) {
		/* Less one, so that an unknown start, 0, is the latest. */
		if (now->entries[i].procid.start - 1 <
		    now->entries[oldest].procid.start - 1)
			oldest = i;
	}
	for (size_t i = now->count; i-- > 0;) {
		struct candidate *const candidate =
		    &now->entries[(oldest + i) % now->count];

		if (candidate->result != MATCH_PROVEN ||
		    kill_candidate(candidate) == -1)
			continue;
		ending->orphans->killed += !candidate->got_kill;
		ending->is_unsure |= is_in_exec(candidate);
		candidate->got_kill = true;
	}
	if (!ending->has_killed) {
		ending->freeze_end = duration_now() + FREEZE_AGAIN_BOUND;
		ending->scans_left = SCANS_MIN;
	}
	ending->has_killed = true;
}

/* --- scan after scan ------------------------------------------------------ */

/* Returns how many processes are proven and not in execve(2), and in *MOVING
 * how many of these may fork: processes newly proven in this scan, or continued
 * by another process. */
static size_t
count_proven(const struct candidates *now, size_t *moving)
{
	size_t proven = 0;

	*moving = 0;
	for (size_t i = 0; i < now->count; i++) {
		const struct candidate *const candidate = &now->entries[i];

		if (candidate->result != MATCH_PROVEN || is_in_exec(candidate))
			continue;
		proven++;
		*moving += !candidate->got_kill &&
		           (candidate->is_new ||
		            !is_frozen_state(candidate->state, true));
	}
	return proven;
}

/* Whether END is over, with the least number of scans. Where a control group
 * has used up its share of the processors, time passes in which neither this
 * process nor the run's are doing anything. */
static bool
is_over(const struct ending *ending, int64_t end)
{
	return ending->scans_left <= 0 && duration_now() >= end;
}

/*
 * Scans until no process is left to be killed, or the time is over. Returns 0,
 * or -1 with errno.
 *
 * A dead parent proves no child, so no process is killed before all are frozen,
 * unless the time is over. All are frozen if the processes proven before a scan
 * were frozen when the scan began, and none is moving at its end: each child
 * that they forked was there during the whole scan, with its parent alive and
 * proven, so the scan has proven the child by rule D, and found it frozen.
 */
static int
end_all(struct ending *ending)
{
	int empty_scans = 0;
	int pause = PAUSE_MS;
	size_t stuck = 0;
	size_t moving;

	while (empty_scans < MATCH_EMPTY_SCANS) {
		if (match_scan(&ending->match) == -1)
			return -1;
		ending->scans_left--;

		const size_t proven = count_proven(&ending->match.now, &moving);
		const bool is_whole = ending->was_frozen && moving == 0;

		empty_scans = proven == 0 && ending->match.unseen == 0 &&
		                      ending->match.stuck == stuck
		                  ? empty_scans + 1
		                  : 0;
		stuck = ending->match.stuck;
		if (empty_scans == 0 &&
		    is_over(ending, ending->freeze_end + KILL_BOUND) &&
		    (proven == 0 || ending->has_killed)) {
			ending->is_unsure |= proven == 0;
			return 0;
		}
		if (proven > 0 && !is_whole &&
		    !is_over(ending, ending->freeze_end)) {
			ending->was_frozen = await_freeze(ending);
		} else if (proven > 0) {
			ending->is_unsure |= !is_whole;
			kill_proven(ending);
			(void)poll(NULL, 0, pause);
			pause =
			    2 * pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : 2 * pause;
		}
	}
	return 0;
}

static const char *
reason_left(const struct candidate *candidate)
{
	if (candidate->is_stuck &&
	    (candidate->may_belong ||
	     (candidate->result != MATCH_NONE && candidate->procid.start == 0)))
		return "cannot be looked at";
	switch (candidate->result) {
	case MATCH_NONE:
		break;
	case MATCH_PROVEN:
		return "cannot be killed";
	case MATCH_UNPROVEN:
		return "may belong to the run: has the run's session ID";
	case MATCH_OTHER_USER:
		return "belongs to another user";
	case MATCH_ANCESTOR:
		return candidate->procid.pid == getpid()
		           ? "is this wdrun"
		           : "is an ancestor of this wdrun";
	}
	return NULL;
}

/* Counts and names the processes that are left. */
static void
note_left(const struct ending *ending)
{
	const struct candidates *const now = &ending->match.now;
	struct orphans *const orphans = ending->orphans;
	struct strbuf line = { .text = orphans->left_text,
		               .size = sizeof(orphans->left_text) };

	for (size_t i = 0; i < now->count; i++) {
		const struct candidate *const candidate = &now->entries[i];
		const char *const reason = reason_left(candidate);

		if (reason == NULL)
			continue;
		orphans->killed -= candidate->got_kill;
		if (orphans->left == NAMED_MAX)
			strbuf_addf(&line, ", ...");
		if (orphans->left++ >= NAMED_MAX)
			continue;
		add_process(&line, candidate);
		strbuf_addf(&line, " (%s)", reason);
	}
	if (ending->is_unsure && orphans->left++ == 0)
		strbuf_addf(&line, "processes that end too soon to be read");
}

int
orphans_end(const struct entry *entry, struct orphans *orphans)
{
	struct ending ending = {
		.match = { .entry = entry,
		           .on_proven = stop,
		           .context = orphans },
		.orphans = orphans,
		.killed_text = { .text = orphans->killed_text,
		                 .size = sizeof(orphans->killed_text) },
		.freeze_end = duration_now() + FREEZE_BOUND,
		.scans_left = SCANS_MIN,
	};
	const int result = end_all(&ending);

	if (orphans->killed > ending.named)
		strbuf_addf(&ending.killed_text, ", ...");
	if (result == 0)
		note_left(&ending);
	match_free(&ending.match); /* keeps errno */
	return result;
}

void
orphans_continue(const struct orphans *orphans)
{
	for (size_t i = 0; i < orphans->stopped_count; i++)
		(void)procid_kill(&orphans->stopped[i], SIGCONT);
}
