/* Moving bytes, and waiting for whoever does not take them. */
#include "flow.h"

#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "duration.h"
#include "message.h"
#include "pty.h"
#include "relay.h"

#define CHUNK_SIZE     (RELAY_ROOM - SEARCH_TEXT_MAX)
#define SPLICE_SIZE    ((size_t)1024 * 1024)
#define BULK_MIN       ((size_t)32 * 1024)
#define BULK_PIPE_SIZE (256 * 1024)
#define HANG_UP_AFTER  SECOND

/* Where what is read lies, behind the room for the search. */
static char *
chunk_of(const struct flow *flow)
{
	return flow->relay->room + SEARCH_TEXT_MAX;
}

void
flow_tell_news(const struct flow *flow)
{
	/* A full pipe has its reader awake already; one that is detached has
	 * none. */
	if (write(flow->relay->news_fd, "", 1) == -1)
		return;
}

static void
begin_write(const struct flow *flow)
{
	const int64_t now = duration_now_fast();

	flow->relay->state->active_at = now;
	flow->relay->state->blocked_at = now;
}

static void
end_write(const struct flow *flow)
{
	flow->relay->state->active_at = duration_now_fast();
	flow->relay->state->blocked_at = 0;
}

static bool
is_readable(int fd)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };

	return poll(&readable, 1, 0) == 1;
}

void
flow_detach(struct flow *flow)
{
	struct relay *const relay = flow->relay;

	if (flow->is_detached)
		return;
	flow->is_detached = true;
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	(void)close(relay->orders_fd);
	relay->orders_fd = -1;
	if (relay->slave_fd != -1)
		(void)close(relay->slave_fd);
	(void)dup2(STDIN_FILENO, STDERR_FILENO);
	relay->state->is_done = true;
	(void)close(relay->news_fd);
	relay->news_fd = -1;
	flow->left = FLOW_EVERYTHING;
}

/* Writes what is taken without a wait of the chunk's last HELD bytes, which
 * end at END. */
static void
deliver_last(struct flow *flow, const char *end)
{
	while (flow->held > 0 && flow->relay->out.fd != -1) {
		const ssize_t written = outlet_write(
		    &flow->relay->out, end - flow->held, flow->held);

		if (written <= 0)
			return;
		flow->held -= (size_t)written;
		flow->relay->state->relayed += (size_t)written;
	}
}

void
flow_give_up(struct flow *flow)
{
	struct relay *const relay = flow->relay;
	size_t lost = 0;

	if (relay->page->order == RELAY_DETACH) {
		flow_detach(flow);
		return;
	}
	deliver_last(flow, chunk_of(flow) + flow->filled);
	lost = flow->held;
	/* An end to this, should somebody write for ever. */
	for (size_t seen = 0;
	     seen < SPLICE_SIZE && is_readable(relay->in_fd);) {
		const ssize_t length =
		    read(relay->in_fd, chunk_of(flow), CHUNK_SIZE);

		if (length <= 0)
			break;
		flow->held = (size_t)length;
		if (lost == 0)
			deliver_last(flow, chunk_of(flow) + length);
		lost += flow->held;
		seen += (size_t)length;
	}
	relay->state->undelivered = lost;
	relay->state->is_done = true;
	_exit(0);
}

static void
fail(struct flow *flow, int why)
{
	struct relay *const relay = flow->relay;

	if (relay->is_copyist) {
		/* What came after a gap would be no copy. */
		copy_end(relay->out_name, &relay->page->copy_is_over,
		         strerror(why));
		flow->is_over = true;
	} else if (!flow->has_failed) {
		message("cannot write to %s: %s; output is lost",
		        relay->out_name, strerror(why));
	}
	flow->has_failed = true;
	relay->state->dropped += flow->held;
	flow->held = 0;
}

void
flow_lose_reader(struct flow *flow)
{
	struct relay *const relay = flow->relay;

	if (relay->is_copyist) {
		fail(flow, EPIPE);
		return;
	}
	(void)close(relay->out.fd);
	relay->out.fd = -1;
	flow->held = 0;
	if (relay->slave_fd == -1 || flow->is_detached) {
		flow->is_over = true;
		return;
	}
	relay->state->lost_reader = true;
	flow->hang_up = duration_now_fast() + HANG_UP_AFTER;
	flow_tell_news(flow);
}

/* That the text has come is told when it was delivered, so that no message
 * comes before it; or when a reader keeps it waiting. */
static void
tell_found(struct flow *flow)
{
	if (flow->found_at == 0 || flow->relay->state->found_at != 0)
		return;
	flow->relay->state->found_at = flow->found_at;
	flow_tell_news(flow);
}

static void
await_room(struct flow *flow)
{
	tell_found(flow);
	if (*flow->gives_up)
		flow_give_up(flow);
	/* A signal that comes between the look and the wait: comes again. */
	outlet_await(&flow->relay->out);
	if (*flow->gives_up)
		flow_give_up(flow);
}

/* Writes the LENGTH bytes of the chunk. */
static void
deliver(struct flow *flow, size_t length)
{
	struct relay *const relay = flow->relay;

	flow->held = length;
	flow->filled = length;
	while (flow->held > 0 && relay->out.fd != -1) {
		const ssize_t written = outlet_write(
		    &relay->out, chunk_of(flow) + length - flow->held,
		    flow->held);
		const int why = written == 0 ? EIO : errno;

		if (written > 0) {
			flow->held -= (size_t)written;
			relay->state->relayed += (size_t)written;
			begin_write(flow);
		} else if (why == EAGAIN) {
			await_room(flow);
		} else if (why == EPIPE) {
			flow_lose_reader(flow);
		} else if (why != EINTR) {
			fail(flow, why);
		}
	}
	flow->held = 0;
}

void
flow_follow_size(const struct relay *relay)
{
	if (relay->slave_fd == -1 || relay->size_fd == -1 ||
	    !pty_follow_size(relay->slave_fd, relay->size_fd) ||
	    tcgetsid(relay->in_fd) != -1)
		return;

	const pid_t group = tcgetpgrp(relay->size_fd);

	if (group > 1)
		(void)kill(-group, SIGWINCH);
}

/*
 * Small pieces that are spliced fill the next pipe with nearly empty pages, so
 * they are copied. For a large flow the pipe is made larger, but not before:
 * pipes are counted for each user (pipe(7), pipe-user-pages-soft).
 */
static void
note_size(struct flow *flow, ssize_t length)
{
	flow->is_bulk = length >= (ssize_t)BULK_MIN;
	if (!flow->is_bulk || flow->is_widened || flow->relay->slave_fd != -1)
		return;
	(void)fcntl(flow->relay->in_fd, F_SETPIPE_SZ, BULK_PIPE_SIZE);
	flow->is_widened = true;
}

static void
look_for_text(struct flow *flow, size_t length)
{
	if (flow->found_at == 0 &&
	    search_continue(&flow->relay->search, chunk_of(flow), length))
		flow->found_at = duration_now_fast();
}

static void
end_of_output(struct flow *flow, int why)
{
	if (why == EINTR || why == EAGAIN)
		return;
	/* Not even a terminal that all others have closed says EIO: we have it
	 * open ourselves. */
	if (why != 0)
		message("cannot read the command's %s: %s",
		        flow->relay->out_name, strerror(why));
	flow->is_over = true;
}

/* Reads a chunk and writes it. The copy comes first: who follows it is to see a
 * line at once, whatever the other reader does. */
static void
pass_through(struct flow *flow)
{
	struct relay *const relay = flow->relay;
	const size_t size = flow->left < CHUNK_SIZE ? flow->left : CHUNK_SIZE;
	const ssize_t length = read(relay->in_fd, chunk_of(flow), size);

	if (length <= 0) {
		end_of_output(flow, length == 0 ? 0 : errno);
		return;
	}
	begin_write(flow);
	note_size(flow, length);
	if (flow->left != FLOW_EVERYTHING)
		flow->left -= (size_t)length;
	/* Also here: a job of the command's own may have been told, not we. */
	flow_follow_size(relay);
	if (relay->search.text != NULL)
		look_for_text(flow, (size_t)length);
	if (relay->copy.fd != -1)
		copy_write(&relay->copy, chunk_of(flow), (size_t)length,
		           flow->gives_up);
	deliver(flow, (size_t)length);
	tell_found(flow);
	end_write(flow);
}

/* The same, where nobody looks at the bytes: they never come here. */
static void
splice_through(struct flow *flow)
{
	struct relay *const relay = flow->relay;
	const size_t size = flow->left < SPLICE_SIZE ? flow->left : SPLICE_SIZE;

	if (relay->state->blocked_at == 0)
		begin_write(flow);
	const ssize_t length = splice(relay->in_fd, NULL, relay->out.fd, NULL,
	                              size, SPLICE_F_NONBLOCK);
	const int why = errno;

	if (length == -1 && why == EAGAIN) {
		await_room(flow); /* and when it comes again, it still waits */
		return;
	}
	end_write(flow);
	note_size(flow, length);
	if (length > 0) {
		relay->state->relayed += (size_t)length;
		if (flow->left != FLOW_EVERYTHING)
			flow->left -= (size_t)length;
	} else if (length == 0) {
		flow->is_over = true;
	} else if (why == EPIPE) {
		flow_lose_reader(flow);
	} else if (why != EINTR) {
		/* write(2) knows how to do it, or what the matter is. */
		flow->can_splice = false;
	}
}

void
flow_carry(struct flow *flow)
{
	if (flow->can_splice && flow->is_bulk && flow->relay->out.fd != -1)
		splice_through(flow);
	else
		pass_through(flow);
}

void
flow_begin(struct flow *flow)
{
	const struct relay *const relay = flow->relay;

	flow->left = FLOW_EVERYTHING;
	flow->hang_up = NEVER;
	/* Into a file, splice(2) copies as well, and holds the pipe while it
	 * does. */
	flow->can_splice =
	    relay->search.text == NULL && relay->copy.fd == -1 &&
	    relay->slave_fd == -1 &&
	    (relay->out.kind == OUTLET_PIPE || relay->out.kind == OUTLET_FIFO);
}
