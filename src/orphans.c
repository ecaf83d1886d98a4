/*
 * Ending what a run has left behind. By SIGKILL at once, as the run's own
 * watchers would have done it, had they not both been killed.
 */
#include "orphans.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "message.h"
#include "pidfd.h"
#include "procfs.h"
#include "proof.h"

#define FREEZE_BOUND       (8 * SECOND)
#define FREEZE_AGAIN_BOUND (1 * SECOND) /* when some are killed */
#define KILL_BOUND         (4 * SECOND) /* after that */
#define D_BOUND            (1 * SECOND)
#define PAUSE_MS           2
#define PAUSE_MAX_MS       50
#define NAMED_MAX          8  /* how many processes are told by name */
#define COMMAND_WIDTH      60 /* and how much of their command lines */

/* One run's processes being ended. */
struct ending {
	struct lineup lineup;
	struct orphans *orphans;
	struct line killed_line;
	int64_t freeze_end;
	bool has_killed;
	bool was_still; /* all that are proven, before the last sweep */
	bool is_unsure; /* whether all were seen, at the end */
	int empty_sweeps;
	size_t named;
};

int
orphans_signal(const struct identity *identity, int signal)
{
	const int fd = identity_open(identity);

	if (fd == -1 && errno == ESRCH)
		return -1;

	int result = fd == -1 ? -1 : pidfd_send_signal(fd, signal);
	int why = errno;

	if (fd != -1)
		(void)close(fd);
	/*
	 * ESRCH and EPERM are answers, all else is a call that is missing, or
	 * that a filter forbids. Then the look comes just before the signal: a
	 * PID is not given away again until all others have had their turn.
	 */
	if (result == -1 && (fd == -1 || (why != ESRCH && why != EPERM))) {
		const enum fate fate = identity_look(identity);

		result = fate == FATE_ALIVE ? kill(identity->pid, signal) : -1;
		why = fate == FATE_DEAD ? ESRCH : errno;
	}
	errno = why;
	return result;
}

/* Appends "4711 sleep 1000". Whoever waits for something that may never come
 * (state D) could hold up who reads its memory: of that, only the name. */
static void
add_process(struct line *line, const struct suspect *suspect)
{
	line_add(line, "%s%d ", line->length == 0 ? "" : ", ",
	         suspect->identity.pid);
	procfs_add_command(line, suspect->identity.pid,
	                   suspect->state == 'D' ? 0 : COMMAND_WIDTH);
}

/* Appends it as one that is killed, before it is. */
static void
name_killed(struct ending *ending, struct suspect *suspect)
{
	if (ending->named < NAMED_MAX)
		add_process(&ending->killed_line, suspect);
	else if (ending->named == NAMED_MAX)
		line_add(&ending->killed_line, ", ...");
	ending->named++;
	suspect->is_named = true;
}

/* --- freezing them -------------------------------------------------------- */

static void
stop_on_sight(const struct suspect *suspect)
{
	if (suspect->state != 'T' && !suspect->got_kill)
		(void)orphans_signal(&suspect->identity, SIGSTOP);
}

/*
 * Whether a thread in STATE, whose process has got SIGSTOP, forks no more. In
 * state D it may be on its way out of a fork(2), which SIGSTOP does not undo;
 * but so is whoever waits for a vfork(2), and for what never answers: AT_LAST
 * it is enough.
 */
static bool
is_quiet(char state, bool at_last)
{
	return strchr("TtZX", state) != NULL || (state == 'D' && at_last);
}

struct threads {
	long quiet;
	bool at_last;
};

static int
visit_thread(pid_t tid, void *context)
{
	struct threads *const threads = context;
	struct procfs_stat stat;

	threads->quiet += procfs_read_stat(tid, &stat) == 0 &&
	                  is_quiet(stat.state, threads->at_last);
	return 0;
}

/* Whether SUSPECT stands still with all of its threads, or is dead. They are
 * counted last: one more may have been made while they were looked at. */
static bool
is_still(const struct suspect *suspect, bool at_last)
{
	const pid_t pid = suspect->identity.pid;
	struct threads threads = { .at_last = at_last };
	struct procfs_stat stat;

	(void)procfs_visit_threads(pid, visit_thread, &threads);
	if (procfs_read_stat(pid, &stat) == -1)
		return errno == ENOENT || errno == ESRCH;
	return stat.start != suspect->identity.start || procfs_is_dead(&stat) ||
	       stat.threads == threads.quiet;
}

/* Waits until all who are proven, and were stopped on sight, stand still.
 * Returns whether they do. */
static bool
await_stillness(const struct ending *ending)
{
	const struct suspects *const suspects = &ending->lineup.now;
	const int64_t at_last = duration_now() + D_BOUND;

	for (size_t i = 0; i < suspects->count; i++) {
		const struct suspect *const suspect = &suspects->entries[i];

		if (suspect->standing != STANDING_PROVEN || suspect->got_kill)
			continue;
		while (!is_still(suspect, duration_now() >= at_last)) {
			if (duration_now() >= ending->freeze_end)
				return false;
			(void)poll(NULL, 0, 1);
		}
	}
	return true;
}

/* --- killing them --------------------------------------------------------- */

/*
 * The youngest first: the end of a process may leave groups orphaned below it,
 * and to those who are stopped there the kernel sends SIGCONT
 * (kill_orphaned_pgrp()). They are to have their SIGKILL by then. PIDs rise
 * from that of the oldest on, to where they begin anew.
 */
static void
kill_proven(struct ending *ending)
{
	struct suspects *const suspects = &ending->lineup.now;
	size_t oldest = 0;

	for (size_t i = 0; i < suspects->count; i++) {
		struct suspect *const suspect = &suspects->entries[i];

		if (suspect->standing == STANDING_PROVEN && !suspect->is_named)
			name_killed(ending, suspect);
		if (suspect->identity.start <
		    suspects->entries[oldest].identity.start)
			oldest = i;
	}
	for (size_t i = suspects->count; i-- > 0;) {
		struct suspect *const suspect =
		    &suspects->entries[(oldest + i) % suspects->count];

		if (suspect->standing != STANDING_PROVEN ||
		    orphans_signal(&suspect->identity, SIGKILL) == -1)
			continue;
		ending->orphans->killed += !suspect->got_kill;
		suspect->got_kill = true;
	}
}

/* --- one sweep after the other -------------------------------------------- */

/* Counts who is proven, and in NEWS who was not in the sweep before, or was
 * continued by somebody. */
static size_t
count(const struct suspects *suspects, size_t *news)
{
	size_t proven = 0;

	*news = 0;
	for (size_t i = 0; i < suspects->count; i++) {
		const struct suspect *const suspect = &suspects->entries[i];

		if (suspect->standing != STANDING_PROVEN)
			continue;
		proven++;
		*news += !suspect->got_kill &&
		         (suspect->is_new || !is_quiet(suspect->state, true));
	}
	return proven;
}

/* After a sweep that has found nobody. Returns whether that is the end. */
static bool
is_over(struct ending *ending, int64_t now)
{
	const bool is_late = now >= ending->freeze_end + KILL_BOUND;

	if (ending->lineup.unseen == 0)
		return ++ending->empty_sweeps == PROOF_EMPTY_SWEEPS;
	ending->empty_sweeps = 0;
	ending->is_unsure |= is_late;
	return is_late;
}

/*
 * After a sweep that has found some: kills them, if they are frozen as a whole.
 * All that were proven stood still before that sweep began, and do at its end.
 * So what they have forked was there from its beginning to its end, below
 * parents who are alive and proven: it is proven, and no NEWS. And it stood
 * still as well. Who is dead has lost what may be his children's only proof,
 * so there is no other moment, until the time is over. Returns whether it
 * killed them.
 */
static bool
end_proven(struct ending *ending, int64_t now, size_t news)
{
	const bool is_whole = ending->was_still && news == 0;

	if (!is_whole && now < ending->freeze_end) {
		ending->was_still = await_stillness(ending);
		return false;
	}
	ending->is_unsure |= !is_whole;
	kill_proven(ending);
	if (!ending->has_killed)
		ending->freeze_end = now + FREEZE_AGAIN_BOUND;
	ending->has_killed = true;
	return true;
}

/* Sweeps until nobody is left who is to be killed, or the time is over. */
static int
sweep(struct ending *ending)
{
	int pause = PAUSE_MS;
	size_t news;

	for (;;) {
		if (proof_read(&ending->lineup) == -1)
			return -1;

		const int64_t now = duration_now();

		if (count(&ending->lineup.now, &news) == 0) {
			if (is_over(ending, now))
				return 0;
			continue;
		}
		ending->empty_sweeps = 0;
		/* One sweep may take longer than all the time there was. */
		if (ending->has_killed &&
		    now >= ending->freeze_end + KILL_BOUND)
			return 0;
		if (!end_proven(ending, now, news))
			continue;
		(void)poll(NULL, 0, pause);
		pause = 2 * pause > PAUSE_MAX_MS ? PAUSE_MAX_MS : 2 * pause;
	}
}

static const char *
reason_of(const struct suspect *suspect)
{
	switch (suspect->standing) {
	case STANDING_STRANGER:
		break;
	case STANDING_PROVEN:
		return "cannot be killed";
	case STANDING_UNPROVEN:
		return "perhaps of the run: in a session with its number";
	case STANDING_FOREIGN:
		return "another user's";
	case STANDING_ABOVE:
		return suspect->identity.pid == getpid()
		           ? "this process"
		           : "this process runs below it";
	}
	return NULL;
}

static void
tell_left(const struct suspects *suspects, struct orphans *orphans)
{
	struct line line = { .text = orphans->left_text,
		             .size = sizeof(orphans->left_text) };

	for (size_t i = 0; i < suspects->count; i++) {
		const struct suspect *const suspect = &suspects->entries[i];
		const char *const reason = reason_of(suspect);

		if (reason == NULL)
			continue;
		if (suspect->got_kill)
			orphans->killed--;
		if (orphans->left == NAMED_MAX)
			line_add(&line, ", ...");
		if (orphans->left++ >= NAMED_MAX)
			continue;
		add_process(&line, suspect);
		line_add(&line, " (%s)", reason);
	}
}

/* The bound is over, and in no sweep could all be looked at. */
static void
tell_unsure(struct orphans *orphans)
{
	struct line line = { .text = orphans->left_text,
		             .size = sizeof(orphans->left_text) };

	if (orphans->left++ == 0)
		line_add(&line, "perhaps processes that come and go too fast "
		                "to be looked at");
}

int
orphans_end(const struct entry *entry, struct orphans *orphans)
{
	struct ending ending = {
		.lineup = { .entry = entry, .on_sight = stop_on_sight },
		.orphans = orphans,
		.killed_line = { .text = orphans->killed_text,
		                 .size = sizeof(orphans->killed_text) },
		.freeze_end = duration_now() + FREEZE_BOUND,
	};

	*orphans = (struct orphans){ .killed = 0 };

	const int result = sweep(&ending);
	const int why = errno;

	if (result == 0)
		tell_left(&ending.lineup.now, orphans);
	if (result == 0 && ending.is_unsure)
		tell_unsure(orphans);
	proof_release(&ending.lineup);
	errno = why;
	return result;
}
