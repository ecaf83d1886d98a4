/* Telling of a stop without being held up by what is told of. */
#include "narrator.h"

#include <sys/prctl.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "diagnosis.h"
#include "family.h"
#include "fork.h"
#include "helper.h"
#include "message.h"
#include "settle.h"
#include "timeout_personality.h"

#define MESSAGE_SIZE 4000
#define PATIENCE_MS  200 /* for naming; and again for printing */
#define TREE_MS      500 /* for telling what each is blocked in */

static void
tell(const struct run *run, enum state next, enum reason why, struct line *line)
{
	if (run->options.verbose && !run->options.is_timeout)
		diagnosis_narrate(run, next, why);
	if (line->length > 0)
		message("%s", line->text);
}

/* The tree is read when the first line is out, and told when it is read: if it
 * hangs, there is that line at least. */
static void
tell_tree(const struct run *run, int named_fd)
{
	struct family family;

	family_read(&family, &run->tree);
	if (write(named_fd, "", 1) == 1)
		family_print(&family, &run->tree);
}

/* NAMED_FD gets a byte when all is read, and is closed when all is told. */
static _Noreturn void
narrate(const struct run *run, enum state next, enum reason why, int named_fd)
{
	char text[MESSAGE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	settle_let_go(run); /* or a narrator that hangs keeps the locks */
	diagnosis_add(&line, run, why, DIAGNOSIS_IN_FULL);
	if (diagnosis_has_tree(run, why)) {
		tell(run, next, why, &line);
		tell_tree(run, named_fd);
	} else if (write(named_fd, "", 1) == 1) {
		tell(run, next, why, &line);
	}
	_exit(0);
}

/* Where there is no process to be had, which is what a fork bomb leads to, the
 * watcher itself tells what can be read without a risk. */
static void
tell_in_short(const struct run *run, enum state next, enum reason why)
{
	char text[MESSAGE_SIZE];
	struct line line = { .text = text, .size = sizeof(text) };

	diagnosis_add(&line, run, why, DIAGNOSIS_IN_SHORT);
	tell(run, next, why, &line);
}

static void
wait_for_news(int fd, int patience_ms)
{
	struct pollfd news = { .fd = fd, .events = POLLIN };

	(void)poll(&news, 1, patience_ms);
}

void
narrator_start(struct run *run, enum state next, enum reason why)
{
	int named[2];

	if (run->options.quiet || timeout_personality_is_silent(run, why))
		return;
	narrator_finish(run); /* one after the other */
	if (helper_is(&run->tree, run->narrator) ||
	    pipe2(named, O_CLOEXEC) == -1) {
		tell_in_short(run, next, why);
		return;
	}

	const pid_t narrator = process_fork();

	if (narrator == 0)
		narrate(run, next, why, named[1]);
	(void)close(named[1]);
	if (narrator == -1) {
		(void)close(named[0]);
		tell_in_short(run, next, why);
		return;
	}
	helper_add(&run->tree, narrator);
	run->narrator = narrator;
	run->narrator_fd = named[0];
	wait_for_news(run->narrator_fd,
	              diagnosis_has_tree(run, why) ? TREE_MS : PATIENCE_MS);
}

void
narrator_finish(struct run *run)
{
	char byte;

	if (run->narrator_fd == -1)
		return;
	/* That it named them, or if it never did, that it is over. */
	wait_for_news(run->narrator_fd, PATIENCE_MS);
	if (fcntl(run->narrator_fd, F_SETFL, O_NONBLOCK) == 0 &&
	    read(run->narrator_fd, &byte, 1) == 1)
		wait_for_news(run->narrator_fd, PATIENCE_MS);
	(void)close(run->narrator_fd);
	run->narrator_fd = -1;

	helper_end(&run->tree, run->narrator, SIGKILL);
}
