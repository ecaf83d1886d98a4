/* Messages on a stop, by helpers, so that no message delays the stop. */
#include "run/announce.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/duration.h"
#include "base/message.h"
#include "base/strbuf.h"
#include "inspect/treeview.h"
#include "proc/helper.h"
#include "proc/pidfd.h"
#include "proc/priority.h"
#include "proc/procfs.h"
#include "proc/procstat.h"
#include "run/report.h"
#include "run/run.h"
#include "run/stop_message.h"

#define FIRST_LINE_SIZE 4000
/* A reader is forked at this share of a timeout, or this time, before its end.
 * The scheduler has the watcher pay for the fork with a later wakeup (negative
 * lag, in the kernel's update_entity_lag()): beside 2,000 processes that leave
 * no processor, for up to a second. */
#define SHARE_OF_TIMEOUT 5
#define LOOK_LEAD        SECOND
#define PATIENCE_LINE    (20 * MILLISECOND)
#define PAUSE            (2 * MILLISECOND) /* between two looks at a reader */

/* The message, and how much of it was read, in memory that the watcher shares
 * with the helpers. A reader goes on behind what the last reader read. */
struct announcement {
	struct run *run;
	enum state from;
	enum state next;
	enum reason why;
	size_t count;   /* of the processes that announce_prepare() has found */
	bool is_ahead;  /* VIEW goes to the report only if the stop comes */
	bool is_looked; /* COUNT, and what follows, is set */
	bool has_tree;
	bool has_first_line;
	enum detail detail; /* of the first line: less after each hang */
	char first_line[FIRST_LINE_SIZE];
	struct treeview view; /* unless the report has the view */
};

static struct treeview *
view_of(struct announcement *announcement)
{
	struct report_facts *const facts = announcement->run->report;

	return facts == NULL || !announcement->has_tree ||
	               announcement->is_ahead
	           ? &announcement->view
	           : &facts->view;
}

static void
read_first_line(struct announcement *announcement)
{
	struct strbuf line = { .text = announcement->first_line,
		               .size = FIRST_LINE_SIZE };

	if (!announcement->has_first_line)
		stop_message_add(&line, announcement->run, announcement->why,
		                 announcement->detail);
	announcement->has_first_line = true;
}

static void
print_all(struct announcement *announcement)
{
	const struct run *const run = announcement->run;
	struct strbuf lines = { .grows = true };

	if (run->options.verbose && !run->options.is_timeout)
		stop_message_print_change(run, announcement->from,
		                          announcement->next,
		                          announcement->why);
	if (announcement->first_line[0] == '\0')
		return;
	strbuf_addf(&lines, "%s", announcement->first_line);
	if (announcement->has_tree)
		treeview_add(&lines, view_of(announcement));
	strbuf_addf(&lines, "%c", '\0');
	message_lines(&lines);
	strbuf_free(&lines);
}

static size_t
progress_of(struct announcement *announcement)
{
	return announcement->has_first_line + view_of(announcement)->step;
}

static bool
is_whole(struct announcement *announcement)
{
	return announcement->has_first_line &&
	       treeview_is_read(view_of(announcement));
}

/* Has the next reader read less of what the last reader has hung with. In
 * DETAIL_BARE the first line names the processes, and no tree follows. */
static void
skip(struct announcement *announcement)
{
	if (announcement->has_first_line)
		treeview_skip(view_of(announcement));
	else if (announcement->detail < DETAIL_BARE)
		announcement->detail++;
	announcement->has_tree &= announcement->detail < DETAIL_BARE;
}

/* Returns when READER, which has the other end of FD, ends or hangs, and not
 * later than UNTIL. */
static void
watch(struct announcement *announcement, pid_t reader, int fd, int64_t until)
{
	struct pollfd end = { .fd = fd };
	size_t progress = progress_of(announcement);
	int64_t now = duration_now();
	int64_t patience_end = now + PATIENCE_LINE;

	while (now < until &&
	       (now < patience_end || procfs_is_runnable(reader)) &&
	       poll(&end, 1, PAUSE / MILLISECOND) <= 0) {
		now = duration_now();
		if (progress_of(announcement) == progress)
			continue;
		progress = progress_of(announcement);
		patience_end = now + PATIENCE_LINE;
	}
}

/* Has a reader read the rest of ANNOUNCEMENT, until the reader hangs. Returns
 * the reader's PID, dead or dying; or 0 or -1 if there is no reader. */
static pid_t
read_by_helper(struct announcement *announcement, int64_t until)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return 0;

	const pid_t reader = helper_fork(SIGKILL);

	if (reader == 0) {
		/* The stop waits for the reader. */
		priority_take(PRIORITY_LASTING);
		read_first_line(announcement);
		if (announcement->has_tree)
			treeview_read(view_of(announcement));
		_exit(0);
	}
	(void)close(fds[1]);
	if (reader != -1) {
		watch(announcement, reader, fds[0], until);
		(void)pid_kill(reader, SIGKILL);
	}
	(void)close(fds[0]);
	if (!is_whole(announcement))
		skip(announcement);
	return reader;
}

static void
read_all(struct announcement *announcement, int64_t until)
{
	struct announcer *const announcer = &announcement->run->announcer;

	for (int i = 0; i < READERS_MAX && !is_whole(announcement) &&
	                duration_now() < until;
	     i++) {
		if (!helper_is(announcer->readers[i]))
			announcer->readers[i] =
			    read_by_helper(announcement, until);
	}
	if (!announcement->has_first_line) {
		announcement->detail = DETAIL_BARE;
		announcement->has_tree = false;
		read_first_line(announcement);
	}
}

/* Without memory for an announcement, the watcher itself reads what takes no
 * wait, and prints one line. */
static void
print_first_line(const struct run *run, enum reason why)
{
	char text[FIRST_LINE_SIZE] = "";
	struct strbuf line = { .text = text, .size = sizeof(text) };

	stop_message_add(&line, run, why, DETAIL_BARE);
	if (line.length > 0 && !run->options.quiet)
		message("%s", text);
}

int64_t
announce_budget(int64_t late)
{
	const int64_t left = LOOK_BUDGET - late;

	return left > late / 4 ? left : late / 4;
}

bool
announce_is_silent(const struct run *run, enum reason why)
{
	return (run->options.quiet && run->report == NULL) ||
	       stop_message_is_none(run, why);
}

static struct announcement *
make_announcement(struct run *run, enum state next, enum reason why)
{
	struct announcement *const announcement =
	    array_share(sizeof(*announcement));

	if (announcement != NULL) {
		announcement->run = run;
		announcement->from = run->state;
		announcement->next = next;
		announcement->why = why;
	}
	return announcement;
}

static void
arrange(struct announcement *announcement, int64_t ahead)
{
	struct run *const run = announcement->run;

	announcement->has_tree = stop_message_has_tree(run, announcement->why);
	if (announcement->has_tree)
		treeview_arrange(view_of(announcement), &run->tree, ahead);
}

/* In a helper, which waitid(2) does not tell of its siblings: leaves them out
 * of the tree. */
static void
leave_out_helpers(struct proctree *tree)
{
	struct process_list *const list = &tree->list;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct procstat stat;

		if (list->entries[i].parent != tree->root ||
		    (list->entries[i].pid != getpid() &&
		     (procstat_read(list->entries[i].pid, &stat) == -1 ||
		      stat.exit_signal != HELPER_EXIT_SIGNAL)))
			list->entries[kept++] = list->entries[i];
	}
	list->count = kept;
}

static void
end_printer(struct announcer *announcer)
{
	(void)helper_end(announcer->printer, 0);
	announcer->printer = 0;
}

/* A dead reader may have been reaped, and its PID be another process's. */
static void
end_readers(const struct announcer *announcer)
{
	for (int i = 0; i < READERS_MAX; i++) {
		if (helper_is(announcer->readers[i]))
			(void)pid_kill(announcer->readers[i], SIGKILL);
	}
}

/* Does not wait for the readers to die: a stop may be due. */
static void
forget(struct announcer *announcer)
{
	struct announcement *const prepared = announcer->prepared;

	end_readers(announcer);
	if (prepared != NULL)
		array_free(prepared, sizeof(*prepared));
	announcer->prepared = NULL;
}

/* The life of a reader before --timeout. A later reader goes on without a list
 * of the tree. */
static _Noreturn void
look_ahead(struct announcement *announcement, int64_t deadline)
{
	struct run *const run = announcement->run;
	struct proctree *const tree = &run->tree;

	priority_take(PRIORITY_LASTING);
	if (!announcement->is_looked) {
		proctree_read(tree);
		leave_out_helpers(tree);
		announcement->count = tree->is_partial ? 0 : tree->list.count;
		arrange(announcement, deadline - duration_now());
		read_first_line(announcement);
	} else {
		tree->is_partial = true;
	}
	announcement->is_looked = true;
	if (announcement->has_tree)
		treeview_read(view_of(announcement));
	_exit(0);
}

int64_t
announce_moment(int64_t timeout)
{
	const int64_t share = timeout / SHARE_OF_TIMEOUT;

	return timeout - (share < LOOK_LEAD ? share : LOOK_LEAD);
}

int64_t
announce_prepare(struct run *run, int64_t now)
{
	struct announcer *const announcer = &run->announcer;
	const int64_t deadline = run->timers.due[TIMER_TIMEOUT];
	struct announcement *prepared = announcer->prepared;
	int i = 0;

	if (prepared == NULL) {
		announce_finish(run);
		if (announce_is_silent(run, REASON_TIMEOUT))
			return NEVER;
		prepared =
		    make_announcement(run, STATE_STOPPING, REASON_TIMEOUT);
		announcer->prepared = prepared;
		announcer->prepared_at = now;
		if (prepared != NULL)
			prepared->is_ahead = true;
	}
	while (i < READERS_MAX && announcer->readers[i] != 0)
		i++;
	/* A reader that only lacks a processor is left alone, and so is the
	 * processor: each wakeup here puts off the wakeup for the stop. */
	if (prepared == NULL || is_whole(prepared) || i == READERS_MAX ||
	    (i > 0 && procfs_is_runnable(announcer->readers[i - 1])))
		return NEVER;
	end_readers(announcer);
	if (i > 0 && prepared->is_looked)
		skip(prepared);
	announcer->readers[i] = helper_fork(SIGKILL);
	if (announcer->readers[i] == 0)
		look_ahead(prepared, deadline);
	return now + (deadline - now) / (READERS_MAX - i);
}

bool
announce_is_prepared(struct run *run, enum reason why)
{
	struct announcer *const announcer = &run->announcer;
	struct announcement *const prepared = announcer->prepared;

	if (prepared == NULL)
		return false;
	/* Where the reader found nothing, the watcher has to look itself. */
	if (why == REASON_TIMEOUT &&
	    announcer->prepared_at >= run->timers.resumed_at &&
	    (!prepared->is_looked || prepared->count > 0))
		return true;
	forget(announcer);
	return false;
}

bool
announce_is_late(const struct run *run, size_t *count)
{
	struct announcement *const prepared = run->announcer.prepared;

	if (prepared == NULL)
		return false;
	while (!is_whole(prepared) &&
	       duration_now() < run->announcer.prepared_at + LOOK_BUDGET)
		duration_sleep(PAUSE);
	*count = prepared->count;
	if (is_whole(prepared))
		return false;
	end_readers(&run->announcer);
	return true;
}

void
announce_start(struct run *run, enum state next, enum reason why, int64_t until)
{
	struct announcer *const announcer = &run->announcer;
	struct announcement *announcement = announcer->prepared;

	if (announcement != NULL && announcement->why == why) {
		announcer->prepared = NULL;
		read_all(announcement, until);
		if (run->report != NULL && announcement->has_tree)
			run->report->view = announcement->view;
	} else {
		forget(announcer);
		if (announce_is_silent(run, why) ||
		    (run->options.quiet && !stop_message_has_tree(run, why)))
			return;
		end_printer(announcer); /* of an earlier message */
		announcement = make_announcement(run, next, why);
		if (announcement != NULL) {
			arrange(announcement, 0);
			read_all(announcement, until);
		}
	}
	if (announcement == NULL) {
		print_first_line(run, why);
		return;
	}
	announcer->printer = run->options.quiet ? -1 : helper_fork(SIGKILL);
	/* fork(2) may have failed, as after a fork bomb. */
	if (announcer->printer <= 0 && !run->options.quiet)
		print_all(announcement);
	if (announcer->printer == 0)
		_exit(0);
	array_free(announcement, sizeof(*announcement));
}

void
announce_finish(struct run *run)
{
	struct announcer *const announcer = &run->announcer;

	end_printer(announcer);
	forget(announcer);
	/* All readers have got SIGKILL, and die at the same time. A wait for
	 * the first that hangs is enough. */
	for (int i = 0; i < READERS_MAX; i++) {
		if (!helper_await(announcer->readers[i], SIGKILL))
			break;
	}
	*announcer = (struct announcer){ .printer = 0 };
}
