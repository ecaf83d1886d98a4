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

#define BOUND          (5 * SECOND)
#define FREEZE_BOUND   (1 * SECOND)
#define EMPTY_SWEEPS   10
#define EMPTY_AT_LEAST 2
#define PAUSE_MS       2
#define PAUSE_MAX_MS   50
#define NAMED_MAX      8  /* how many processes are told by name */
#define COMMAND_WIDTH  60 /* and how much of their command lines */

/* One run's processes being ended. */
struct ending {
	struct lineup lineup;
	struct orphans *orphans;
	struct line killed_line;
	bool is_freezing;
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
name_killed(struct ending *ending, const struct suspect *suspect)
{
	if (ending->named < NAMED_MAX)
		add_process(&ending->killed_line, suspect);
	else if (ending->named == NAMED_MAX)
		line_add(&ending->killed_line, ", ...");
	ending->named++;
}

/* Whether SUSPECT forks no more: one that gets SIGSTOP within a fork(2) still
 * completes it. One in state D is not waited for. */
static bool
is_quiet(const struct suspect *suspect)
{
	return suspect->state != 'R' && suspect->state != 'S';
}

/*
 * Stops all of them before the first is killed: the child of a process that is
 * dead has lost what may be its only proof. Returns whether all that are there
 * were there before, and stand still.
 */
static bool
freeze(struct suspects *suspects)
{
	bool is_still = true;

	for (size_t i = 0; i < suspects->count; i++) {
		struct suspect *const suspect = &suspects->entries[i];

		if (suspect->standing != STANDING_PROVEN)
			continue;
		is_still &= suspect->got_stop && is_quiet(suspect);
		if (!suspect->got_stop)
			(void)orphans_signal(&suspect->identity, SIGSTOP);
		suspect->got_stop = true;
	}
	return is_still;
}

static void
kill_proven(struct ending *ending)
{
	struct suspects *const suspects = &ending->lineup.now;

	for (size_t i = 0; i < suspects->count; i++) {
		struct suspect *const suspect = &suspects->entries[i];

		if (suspect->standing != STANDING_PROVEN)
			continue;
		if (!suspect->is_named)
			name_killed(ending, suspect);
		suspect->is_named = true;
		if (orphans_signal(&suspect->identity, SIGKILL) == -1)
			continue;
		ending->orphans->killed += !suspect->got_kill;
		suspect->got_kill = true;
	}
}

static size_t
count_proven(const struct suspects *suspects)
{
	size_t count = 0;

	for (size_t i = 0; i < suspects->count; i++)
		count += suspects->entries[i].standing == STANDING_PROVEN;
	return count;
}

/* Whether this sweep found one that was not there in the sweep before. */
static bool
has_newcomer(const struct suspects *suspects)
{
	for (size_t i = 0; i < suspects->count; i++) {
		if (suspects->entries[i].is_new &&
		    suspects->entries[i].standing == STANDING_PROVEN)
			return true;
	}
	return false;
}

static bool
stop_on_sight(const struct identity *identity)
{
	return orphans_signal(identity, SIGSTOP) == 0;
}

/*
 * Whether a sweep that has found nobody is to be believed. Where one was gone
 * before it was looked at, it takes more such sweeps in a row: on a busy
 * machine strangers come and go all the time, but a chain of processes, each of
 * which forks the next, is not missed that often.
 */
static bool
is_over(struct ending *ending)
{
	const struct lineup *const lineup = &ending->lineup;

	if (lineup->missed == 0)
		return true;
	return ++ending->empty_sweeps >= EMPTY_SWEEPS;
}

/* Sweeps until nobody is left who is to be killed, or the time is over. */
static int
sweep(struct ending *ending)
{
	const int64_t start = duration_now();
	int pause = PAUSE_MS;

	for (;;) {
		if (proof_read(&ending->lineup) == -1)
			return -1;

		const int64_t now = duration_now();
		const bool is_empty = count_proven(&ending->lineup.now) == 0;

		if (is_empty && is_over(ending))
			return 0;
		if (now >= start + BOUND) {
			/* A machine that is slow has had fewer. */
			ending->is_unsure =
			    is_empty && ending->empty_sweeps < EMPTY_AT_LEAST;
			return 0;
		}
		if (is_empty) {
			(void)poll(NULL, 0, PAUSE_MS);
			continue;
		}
		ending->empty_sweeps = 0;
		if (ending->is_freezing)
			ending->is_freezing = !freeze(&ending->lineup.now) &&
			                      now < start + FREEZE_BOUND;
		if (!ending->is_freezing)
			kill_proven(ending);
		if (has_newcomer(&ending->lineup.now)) {
			pause = PAUSE_MS;
			continue;
		}
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
		.is_freezing = true,
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
