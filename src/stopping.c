/* Ending one run from outside, by its own watchers. */
#include "stopping.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../watchdog.h"
#include "duration.h"
#include "message.h"
#include "orphans.h"
#include "pidfd.h"
#include "procstatus.h"
#include "reap.h"
#include "record.h"

#define AFTER_KILL    (10 * SECOND)      /* it has no more than that then */
#define LOOK_INTERVAL (50 * MILLISECOND) /* without pidfds */

/* The two processes of a run that have to end. */
struct watcher {
	const struct identity *identity;
	int fd; /* a pidfd, or -1 where there are none */
	bool is_dead;
};

enum {
	FRONT,
	SUPERVISOR,
	WATCHERS,
};

/* Returns 0, or -1 with errno, where nothing can be said of it. */
static int
watch(struct watcher *watcher, const struct identity *identity)
{
	watcher->identity = identity;
	watcher->fd = identity_open(identity);

	const enum fate fate = identity_look(identity);

	/* One that has no number here, the supervisor outlives. */
	watcher->is_dead = fate == FATE_DEAD || identity->pid == 0;
	return fate == FATE_UNKNOWN && identity->pid != 0 ? -1 : 0;
}

static bool
are_dead(const struct watcher watchers[])
{
	return watchers[FRONT].is_dead && watchers[SUPERVISOR].is_dead;
}

/* Whom to ask: the front; or the supervisor, where the front is dead or, in
 * another PID namespace, has no number here. Both take signals alike. */
static const struct watcher *
whom_to_ask(const struct watcher watchers[])
{
	return &watchers[watchers[FRONT].is_dead ? SUPERVISOR : FRONT];
}

/* Sends SIGNAL, which needs nothing that may be lacking now where there is a
 * pidfd. Returns 0, or -1 with errno; to be dead is no error. */
static int
signal_to(const struct watcher *watcher, int signal)
{
	if ((watcher->fd != -1 &&
	     pidfd_send_signal(watcher->fd, signal) == 0) ||
	    orphans_signal(watcher->identity, signal) == 0)
		return 0;
	return errno == ESRCH ? 0 : -1;
}

/*
 * The first of the terminating signals that it does not ignore: under nohup(1)
 * and the like a run ignores what its front ignored from the start, which is
 * meant for the terminal's signals, not for --cancel. SIGKILL if it ignores
 * all: the other watcher then ends the tree.
 */
static int
signal_that_ends(pid_t pid)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	struct procstatus status;

	if (procstatus_read(pid, &status) == -1)
		return SIGTERM;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		if ((status.ignored >> (signals[i] - 1) & 1) == 0)
			return signals[i];
	}
	return SIGKILL;
}

/* Asks the run to end. Returns 0, or -1 with errno; one that is ending already
 * is not an error. */
static int
ask(const struct watcher watchers[])
{
	const struct watcher *const whom = whom_to_ask(watchers);
	const int signal = signal_that_ends(whom->identity->pid);

	if (signal_to(whom, signal) == -1)
		return -1;
	return signal_to(whom, SIGCONT); /* one that is stopped hears it */
}

/* It did not end in time. A supervisor that was stopped would not notice that
 * the front is dead. Returns as ask. */
static int
force(const struct watcher watchers[])
{
	if (signal_to(whom_to_ask(watchers), SIGKILL) == -1)
		return -1;
	return watchers[SUPERVISOR].is_dead
	           ? 0
	           : signal_to(&watchers[SUPERVISOR], SIGCONT);
}

/* How long to sleep until DEADLINE, for poll(2). */
static int
pause_until(int64_t deadline, bool has_pidfds)
{
	const int64_t left = deadline - duration_now();

	if (!has_pidfds && (deadline == NEVER || left > LOOK_INTERVAL))
		return (int)(LOOK_INTERVAL / MILLISECOND);
	if (deadline == NEVER)
		return -1;
	if (left <= 0)
		return 0;
	return left / MILLISECOND >= INT32_MAX ? INT32_MAX
	                                       : (int)(left / MILLISECOND) + 1;
}

/* Waits until both are dead, but no longer than to DEADLINE. Returns whether
 * they are. */
static bool
wait_for(struct watcher watchers[], int64_t deadline)
{
	while (!are_dead(watchers) && duration_now() < deadline) {
		struct pollfd ends[WATCHERS];
		bool has_pidfds = true;

		for (int i = 0; i < WATCHERS; i++) {
			ends[i] = (struct pollfd){
				.fd = watchers[i].is_dead ? -1 : watchers[i].fd,
				.events = POLLIN,
			};
			has_pidfds &= watchers[i].is_dead || ends[i].fd != -1;
		}
		(void)poll(ends, WATCHERS, pause_until(deadline, has_pidfds));
		for (int i = 0; i < WATCHERS; i++)
			watchers[i].is_dead |=
			    watchers[i].fd == -1
			        ? identity_look(watchers[i].identity) ==
			              FATE_DEAD
			        : ends[i].revents != 0;
	}
	return are_dead(watchers);
}

/* A run takes itself off the record before it ends. What is left on it then was
 * left by watchers that were killed, or could not be killed by them. */
static int
finish(const struct record *record, bool is_quiet)
{
	const int is_there = record_has_name(record);

	if (is_there == 0)
		return 0;
	if (is_there == -1) {
		message("--cancel: cannot read the registry: %s",
		        strerror(errno));
		return STATUS_FAILED;
	}
	return reap_record(record, is_quiet) == 0 ? 0 : STATUS_FAILED;
}

/* Ends the run of these. Returns 0, or -1 having told why not. */
static int
end_run(const struct entry *entry, struct watcher watchers[])
{
	if (watch(&watchers[FRONT], &entry->front) == -1 ||
	    watch(&watchers[SUPERVISOR], &entry->supervisor) == -1) {
		message("--cancel: cannot see how run %s fares: %s", entry->id,
		        strerror(errno));
		return -1;
	}

	const int64_t patience = duration_add(
	    duration_add(duration_now(), AFTER_KILL), entry->kill_after);
	int result = are_dead(watchers) ? 0 : ask(watchers);

	if (result == 0 && wait_for(watchers, patience))
		return 0;
	if (result == 0)
		result = force(watchers);
	if (result == -1)
		message("--cancel: cannot signal run %s: %s", entry->id,
		        strerror(errno));
	else if (wait_for(watchers, duration_now() + AFTER_KILL))
		return 0;
	else
		message("--cancel: run %s does not end, not even by SIGKILL",
		        entry->id);
	return -1;
}

int
stopping_end(const struct record *record, bool is_quiet)
{
	struct watcher watchers[WATCHERS] = { { .fd = -1 }, { .fd = -1 } };
	const int result = end_run(&record->entry, watchers);

	for (int i = 0; i < WATCHERS; i++) {
		if (watchers[i].fd != -1)
			(void)close(watchers[i].fd);
	}
	return result == 0 ? finish(record, is_quiet) : STATUS_FAILED;
}
