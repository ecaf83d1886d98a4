/* Messages on a stop, from helpers, so that they never hold up the stop. */
#include "run/announce.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "base/strbuf.h"
#include "inspect/treeview.h"
#include "proc/helper.h"
#include "proc/pidfd.h"
#include "run/resources.h"
#include "run/run.h"
#include "run/stop_message.h"

#define FIRST_LINE_SIZE 4000
#define PATIENCE_LINE   (20 * MILLISECOND)

/* The message, and how far it is. The watcher keeps the lines that a reader has
 * sent before it hung; the next reader, a copy of the watcher, goes on behind
 * these. */
struct announcement {
	const struct run *run;
	enum state next;
	enum reason why;
	struct treeview view; /* the lines of the tree; empty: not shown */
	enum detail detail;   /* of the next line, by how often it hung */
	int64_t end;          /* what is not read by then is not told */
	size_t count;         /* of the lines that have been read */
	size_t length;        /* of the text of these lines */
	/* Each line ends with a null byte. */
	char text[FIRST_LINE_SIZE + TREEVIEW_LINES_MAX * TREEVIEW_LINE_SIZE];
};

static bool
is_whole(const struct announcement *announcement)
{
	return announcement->count > announcement->view.count;
}

static void
read_line(struct announcement *announcement)
{
	char *const line = &announcement->text[announcement->length];
	struct strbuf first_line = { .text = line, .size = FIRST_LINE_SIZE };

	if (announcement->count == 0)
		stop_message_add(&first_line, announcement->run,
		                 announcement->why, announcement->detail);
	else
		treeview_describe(&announcement->view, announcement->count - 1,
		                  announcement->detail, line);
	announcement->detail = DETAIL_FULL;
	announcement->count++;
	announcement->length += strlen(line) + 1;
}

static void
print_all(const struct announcement *announcement)
{
	const struct run *const run = announcement->run;
	const char *line = announcement->text;
	const size_t count = run->tree.list.count;
	const size_t shown = announcement->count - 1;

	if (run->options.verbose && !run->options.terse)
		stop_message_print_change(run, announcement->next,
		                          announcement->why);
	for (size_t i = 0; i < announcement->count; i++) {
		if (line[0] != '\0')
			message("%s", line);
		line += strlen(line) + 1;
	}
	if (announcement->view.count > 0 && count > shown)
		message("  and %zu more", count - shown);
}

/* Takes the lines that a reader sends by FD, until it has sent all or hangs, or
 * the time is over. */
static void
take_lines(struct announcement *announcement, int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };

	while (!is_whole(announcement)) {
		char *const text = &announcement->text[announcement->length];
		int64_t left = announcement->end - duration_now();

		if (left > PATIENCE_LINE)
			left = PATIENCE_LINE;
		if (left <= 0 ||
		    poll(&event, 1, (int)(left / MILLISECOND) + 1) <= 0)
			return;

		const ssize_t length =
		    read(fd, text,
		         sizeof(announcement->text) - announcement->length);

		/* A line is sent whole: pipe(7), PIPE_BUF. */
		for (ssize_t i = 0; i < length; i++)
			announcement->count += text[i] == '\0';
		if (length <= 0)
			return;
		announcement->length += (size_t)length;
		announcement->detail = DETAIL_FULL;
	}
}

/* Has a reader read lines and send each by a pipe, until it hangs. Returns the
 * PID of the reader, which is dead or dying; or 0 or -1, if there was none. */
static pid_t
read_by_helper(struct announcement *announcement)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return 0;

	const pid_t reader = helper_fork(SIGKILL);

	if (reader == 0) {
		/* A reader that hangs is to keep no lock. */
		resources_close(announcement->run);
		while (!is_whole(announcement)) {
			const char *const line =
			    &announcement->text[announcement->length];

			read_line(announcement);
			(void)write(fds[1], line, strlen(line) + 1);
		}
		_exit(0);
	}
	(void)close(fds[1]);
	if (reader != -1) {
		take_lines(announcement, fds[0]);
		(void)pid_kill(reader, SIGKILL);
	}
	(void)close(fds[0]);
	if (announcement->detail < DETAIL_BARE)
		announcement->detail++;
	return reader;
}

void
announce_start(struct run *run, enum state next, enum reason why, int64_t until)
{
	struct announcement announcement = {
		.run = run,
		.next = next,
		.why = why,
		.end = until,
	};

	if (run->options.quiet || stop_message_is_none(run, why))
		return;
	announce_finish(run); /* one after the other */
	if (stop_message_has_tree(run, why))
		treeview_arrange(&announcement.view, &run->tree);
	for (int i = 0; i < READERS_MAX && !is_whole(&announcement) &&
	                duration_now() < announcement.end;
	     i++)
		run->announcer.readers[i] = read_by_helper(&announcement);
	if (announcement.count == 0) {
		announcement.view.count = 0;
		announcement.detail = DETAIL_BARE;
		read_line(&announcement);
	}
	run->announcer.printer = helper_fork(SIGKILL);
	if (run->announcer.printer > 0)
		return;
	if (run->announcer.printer == 0) {
		resources_close(run);
		print_all(&announcement);
		_exit(0);
	}

	/* There is no room for a process, as after a fork bomb. */
	print_all(&announcement);
}

void
announce_finish(struct run *run)
{
	struct announcer *const announcer = &run->announcer;

	(void)helper_end(announcer->printer, 0);
	/* All readers have got SIGKILL. While this process waits for the first
	 * that hangs, those behind it die. */
	for (int i = 0; i < READERS_MAX; i++) {
		if (!helper_await(announcer->readers[i], SIGKILL))
			break;
	}
	*announcer = (struct announcer){ .printer = 0 };
}
