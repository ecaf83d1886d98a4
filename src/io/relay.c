/* Copies the command's output, in a process that may block. */
#include "io/relay.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "io/pty.h"
#include "io/tty_input.h"
#include "proc/helper.h"

#define ALL            SIZE_MAX
#define CHUNK_SIZE     (RELAY_BUFFER_SIZE - SEARCH_TEXT_MAX)
#define SPLICE_SIZE    ((size_t)1024 * 1024)
#define PTY_CAPACITY   ((size_t)1024 * 1024) /* more than a pty holds */
#define LAST_READ_MAX  ((size_t)1024 * 1024)
#define LAST_WRITES    (50 * MILLISECOND) /* less than PATIENCE of helper.c */
#define BULK_MIN       ((size_t)32 * 1024)
#define BULK_PIPE_SIZE (256 * 1024)
#define HANG_UP_AFTER  SECOND
#define TEE_PATIENCE   SECOND

/* The chunk is behind the bytes that the search keeps. */
static char *
chunk_of(const struct relay *relay)
{
	return relay->buffer + SEARCH_TEXT_MAX;
}

/* Takes each "\r" before "\n", which the pseudo-terminal has added, out of the
 * chunk of LENGTH bytes. A "\r" at the end waits for the next chunk. */
static void
take_out_returns(struct relay *relay, size_t length)
{
	const char *const chunk = chunk_of(relay);

	relay->text = chunk_of(relay) + RELAY_BUFFER_SIZE;
	relay->text_size = 0;
	for (size_t i = 0; i < length; i++) {
		if (relay->has_return && chunk[i] != '\n')
			relay->text[relay->text_size++] = '\r';
		relay->has_return = chunk[i] == '\r';
		if (!relay->has_return)
			relay->text[relay->text_size++] = chunk[i];
	}
}

static ssize_t
read_chunk(struct relay *relay, size_t size)
{
	const ssize_t length = read(relay->in_fd, chunk_of(relay), size);

	relay->text = chunk_of(relay);
	relay->text_size = (size_t)length;
	if (length > 0 && relay->tty_input != NULL)
		take_out_returns(relay, (size_t)length);
	return length;
}

/* Makes the chunk of LENGTH bytes the rest: with "\r\n" for a raw terminal. */
static void
begin_rest(struct relay *relay, size_t length)
{
	const bool is_raw =
	    relay->tty_input != NULL && tty_input_is_raw(relay->tty_input);

	relay->rest = is_raw ? chunk_of(relay) : relay->text;
	relay->rest_size = is_raw ? length : relay->text_size;
}

/* Wakes front and supervisor, to read relay->state. */
static void
notify(const struct relay *relay)
{
	/* EAGAIN: the pipe is full, so front and supervisor will read the state
	 * anyway. EBADF: the relay is detached. */
	if (write(relay->notify_fd, "", 1) == -1)
		return;
}

static void
begin_write(const struct relay *relay)
{
	const int64_t now = duration_now();

	relay->state->active_at = now;
	relay->state->blocked_at = now;
}

static void
end_write(const struct relay *relay)
{
	relay->state->active_at = duration_now();
	relay->state->blocked_at = 0;
}

static void
count_read(struct relay *relay, ssize_t length)
{
	if (relay->budget != ALL)
		relay->budget -= (size_t)length;
}

/* Goes on without front and supervisor, for the survivors that have the pipe or
 * pseudo-terminal open. No process waits for the relay any more, and stderr may
 * be another program's by now: messages go to /dev/null. */
static void
detach(struct relay *relay)
{
	relay->is_detached = true;
	(void)prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	(void)close(relay->wake_fd);
	relay->wake_fd = -1;
	fds_close(relay->slave_fd);
	(void)dup2(STDIN_FILENO, STDERR_FILENO);
	relay->state->is_done = true;
	(void)close(relay->notify_fd);
	relay->notify_fd = -1;
	relay->budget = ALL;
}

/* Whether the front has sent HELPER_GIVE_UP, so that this process must end. A
 * relay that is ordered to detach does so now, and need not end. */
static bool
must_give_up(struct relay *relay)
{
	if (!helper_is_to_end() || relay->is_detached)
		return false;
	if (relay->page->order != RELAY_DETACH)
		return true;
	detach(relay);
	return false;
}

/* Ends the copy, for each relay, and tells WHY once. */
static void
end_copy(const struct relay *relay, const char *why)
{
	if (!atomic_exchange(&relay->page->tee_is_over, true))
		message("--tee: cannot write to '%s': %s; the copy ends here",
		        relay->tee_name, why);
}

/* Whether FD is ready for EVENTS, or has failed. Waits up to TIMEOUT ms (-1:
 * for ever), or until a signal handler has run. */
static bool
is_ready(int fd, short events, int timeout)
{
	struct pollfd polled = { .fd = fd, .events = events };

	return poll(&polled, 1, timeout) == 1;
}

/* Waits until the copy takes something again. Returns false if the copy has
 * taken nothing from any relay for TEE_PATIENCE: where two relays write into a
 * FIFO, a relay may find the FIFO full each time. */
static bool
await_room_for_copy(const struct relay *relay)
{
	const int64_t start = relay->state->active_at;
	const int64_t taken_at = relay->page->tee_active_at;
	const int64_t left = (taken_at > start ? taken_at : start) +
	                     TEE_PATIENCE - duration_now();

	if (left <= 0)
		return false;
	(void)is_ready(relay->tee_fd, POLLOUT, (int)(left / MILLISECOND) + 1);
	return true;
}

/* Appends the chunk to the copy. An error, or a FIFO that takes nothing for
 * TEE_PATIENCE, ends the copy: with a gap, the file would be no copy. */
static void
write_copy(struct relay *relay)
{
	const char *text = relay->text;
	size_t length = relay->text_size;

	while (length > 0 && relay->tee_fd != -1) {
		if (relay->page->tee_is_over) {
			(void)close(relay->tee_fd);
			relay->tee_fd = -1;
			return;
		}

		const ssize_t written = write(relay->tee_fd, text, length);
		const int why = errno;

		if (written > 0) {
			text += written;
			length -= (size_t)written;
			begin_write(relay);
			relay->page->tee_active_at = relay->state->active_at;
		} else if (why == EAGAIN) {
			if (must_give_up(relay))
				end_copy(relay, "its reader had not taken all "
				                "when the run ended");
			else if (!await_room_for_copy(relay))
				end_copy(relay, "its reader is stuck");
		} else if (why != EINTR) {
			end_copy(relay, strerror(why));
		}
	}
}

/* Writes some of the rest. Returns like sink_write(). */
static ssize_t
write_rest(struct relay *relay)
{
	const ssize_t written =
	    sink_write(&relay->out, relay->rest, relay->rest_size);

	if (written > 0) {
		relay->rest += written;
		relay->rest_size -= (size_t)written;
		relay->state->relayed += (size_t)written;
	}
	return written;
}

/* Writes the rest until END, then as much as the reader takes at once. */
static void
write_rest_until(struct relay *relay, int64_t end)
{
	while (relay->rest_size > 0 && relay->out.fd != -1) {
		const int64_t left = end - duration_now();

		if (write_rest(relay) > 0)
			continue;
		if (left <= 0)
			return;
		/* HELPER_GIVE_UP, which the front repeats, ends the wait. */
		(void)is_ready(relay->out.fd, POLLOUT,
		               (int)(left / MILLISECOND) + 1);
	}
}

/* Writes what the reader takes within LAST_WRITES, counts the rest as
 * undelivered, and exits. If the copy was stuck, the last chunk has not been
 * offered to the reader yet. */
static _Noreturn void
give_up(struct relay *relay)
{
	const int64_t end = duration_now() + LAST_WRITES;
	size_t seen = 0;
	size_t lost;

	write_rest_until(relay, end);
	lost = relay->rest_size;
	/* LAST_READ_MAX: a process may write without end. */
	while (seen < LAST_READ_MAX && is_ready(relay->in_fd, POLLIN, 0)) {
		const ssize_t length = read_chunk(relay, CHUNK_SIZE);

		if (length <= 0)
			break;
		seen += (size_t)length;
		write_copy(relay);
		begin_rest(relay, (size_t)length);
		if (lost == 0)
			write_rest_until(relay, end);
		lost += relay->rest_size;
	}
	relay->state->undelivered = lost;
	relay->state->is_done = true;
	_exit(0);
}

/* The reader of the output is gone. Closing the pipe gives the writers the
 * SIGPIPE that they would get without the relay. Closing a pseudo-terminal
 * would send SIGHUP: so the supervisor sends SIGPIPE to the command, which has
 * HANG_UP_AFTER to die before the pseudo-terminal is closed. */
static void
lose_reader(struct relay *relay)
{
	(void)close(relay->out.fd);
	relay->out.fd = -1;
	relay->rest_size = 0;
	if (relay->slave_fd == -1 || relay->is_detached) {
		relay->is_over = true;
		return;
	}
	relay->state->lost_reader = true;
	relay->hang_up = duration_now() + HANG_UP_AFTER;
	notify(relay);
}

/* Tells front and supervisor when the text of --until was read. Called after
 * the text was delivered, so that wdrun's message follows the text, or when the
 * relay has to wait for the reader. */
static void
publish_found(struct relay *relay)
{
	if (relay->found_at == 0 || relay->state->found_at != 0)
		return;
	relay->state->found_at = relay->found_at;
	notify(relay);
}

static void
await_room(struct relay *relay)
{
	publish_found(relay);
	if (must_give_up(relay))
		give_up(relay);
	/* A signal just before poll(2) does not interrupt poll(2): the front
	 * sends HELPER_GIVE_UP again. */
	(void)is_ready(relay->out.fd, POLLOUT, -1);
	if (must_give_up(relay))
		give_up(relay);
}

static void
drop_rest(struct relay *relay, int why)
{
	if (relay->state->dropped == 0)
		message("cannot write to %s: %s; what cannot be written is "
		        "lost",
		        relay->out_name, strerror(why));
	relay->state->dropped += relay->rest_size;
	relay->rest_size = 0;
}

/* Writes the chunk of LENGTH bytes to the output. */
static void
deliver(struct relay *relay, size_t length)
{
	begin_rest(relay, length);
	while (relay->rest_size > 0 && relay->out.fd != -1) {
		const ssize_t written = write_rest(relay);
		const int why = written == 0 ? EIO : errno;

		if (written > 0)
			begin_write(relay);
		else if (why == EAGAIN)
			await_room(relay);
		else if (why == EPIPE)
			lose_reader(relay);
		else if (why != EINTR)
			drop_rest(relay, why);
	}
	relay->rest_size = 0;
}

/* Copies the parent's window size to the pseudo-terminal, whose foreground
 * group gets SIGWINCH from the kernel. Without a session there is no such
 * group: then the foreground group of the parent's terminal gets SIGWINCH
 * again, as that group may have asked for the size too early. */
static void
copy_winsize(const struct relay *relay)
{
	if (relay->size_fd == -1 ||
	    !pty_copy_size(relay->slave_fd, relay->size_fd) ||
	    tcgetsid(relay->in_fd) != -1)
		return;

	const pid_t group = tcgetpgrp(relay->size_fd);

	if (group > 1)
		(void)kill(-group, SIGWINCH);
}

/* Small pieces are copied: splice(2) would fill the next pipe with nearly empty
 * pages. The pipe is enlarged for large pieces only, as the kernel limits the
 * pages of a user's pipes: pipe(7). */
static void
note_size(struct relay *relay, ssize_t length)
{
	relay->is_bulk = length >= (ssize_t)BULK_MIN;
	if (!relay->is_bulk || relay->is_widened || relay->slave_fd != -1)
		return;
	(void)fcntl(relay->in_fd, F_SETPIPE_SZ, BULK_PIPE_SIZE);
	relay->is_widened = true;
}

static void
end_of_output(struct relay *relay, int why)
{
	if (why == EINTR || why == EAGAIN)
		return;
	/* Not EIO: the relay has the pseudo-terminal's slave open. */
	if (why != 0)
		message("cannot read the command's %s: %s", relay->out_name,
		        strerror(why));
	relay->is_over = true;
}

/* Reads a chunk, and writes the chunk to the copy first: the reader of the copy
 * gets a line at once, even if the reader of the output is stuck. */
static void
copy_through(struct relay *relay)
{
	const size_t size =
	    relay->budget < CHUNK_SIZE ? relay->budget : CHUNK_SIZE;
	const ssize_t length = read_chunk(relay, size);

	if (length <= 0) {
		end_of_output(relay, length == 0 ? 0 : errno);
		return;
	}
	begin_write(relay);
	note_size(relay, length);
	count_read(relay, length);
	/* If the command's process group, not the front's, has the terminal,
	 * SIGWINCH has come to the command alone. */
	copy_winsize(relay);
	if (relay->search.text != NULL && relay->found_at == 0 &&
	    search_continue(&relay->search, relay->text, relay->text_size))
		relay->found_at = duration_now();
	write_copy(relay);
	deliver(relay, (size_t)length);
	publish_found(relay);
	end_write(relay);
}

/* Moves bytes inside the kernel, if the relay need not see the bytes. */
static void
splice_through(struct relay *relay)
{
	const size_t size =
	    relay->budget < SPLICE_SIZE ? relay->budget : SPLICE_SIZE;

	if (relay->state->blocked_at == 0)
		begin_write(relay);
	const ssize_t length = splice(relay->in_fd, NULL, relay->out.fd, NULL,
	                              size, SPLICE_F_NONBLOCK);
	const int why = errno;

	if (length == -1 && why == EAGAIN) {
		await_room(relay); /* the same wait goes on: no end_write() */
		return;
	}
	end_write(relay);
	note_size(relay, length);
	if (length > 0) {
		relay->state->relayed += (size_t)length;
		count_read(relay, length);
	} else if (length == 0) {
		relay->is_over = true;
	} else if (why == EPIPE) {
		lose_reader(relay);
	} else if (why != EINTR) {
		/* write(2) works instead, or reports what is wrong. */
		relay->can_splice = false;
	}
}

/* Follows the order, now that what was written before is delivered. */
static void
finish(struct relay *relay)
{
	if (relay->page->order == RELAY_DETACH)
		detach(relay);
	else
		relay->is_over = true;
}

static void
attend_watchers(struct relay *relay)
{
	int waiting = 0;
	eventfd_t times;

	(void)eventfd_read(relay->wake_fd, &times);
	copy_winsize(relay);
	if (relay->page->order == RELAY_GO_ON || relay->budget != ALL)
		return;
	/* No more than the pipe has now: a process outside the tree may have
	 * the pipe open, too, and write for ever. */
	if (relay->slave_fd != -1 ||
	    ioctl(relay->in_fd, FIONREAD, &waiting) == -1)
		relay->budget = PTY_CAPACITY;
	else
		relay->budget = (size_t)waiting;
}

/* Whether a question of output_ask() has no answer yet. A relay that was
 * stopped, or got no processor, may have output from before the idle
 * timeout. */
static bool
is_asked(const struct relay *relay)
{
	return !relay->is_detached &&
	       relay->state->answered != relay->page->question;
}

static int
poll_timeout(const struct relay *relay)
{
	if (relay->budget != ALL || is_asked(relay))
		return 0;
	if (relay->hang_up == NEVER)
		return -1;

	const int64_t left = relay->hang_up - duration_now();

	return left <= 0 ? 0 : (int)(left / MILLISECOND) + 1;
}

/* Whether to notice, without output, that the reader is gone. Not for a
 * pseudo-terminal: the supervisor's SIGPIPE is only for a command that writes.
 * Not for a FIFO: it may get another reader. Not for datagrams: the error of
 * an earlier datagram would wake the relay until the next is sent. */
static bool
watches_reader(const struct relay *relay)
{
	return relay->slave_fd == -1 &&
	       (relay->out.kind == SINK_PIPE || relay->out.kind == SINK_SOCKET);
}

/* Sleeps until there is something to do, and does it. */
static void
step(struct relay *relay)
{
	struct pollfd fds[] = {
		{ .fd = relay->in_fd, .events = POLLIN },
		{ .fd = relay->wake_fd, .events = POLLIN },
		{ .fd = watches_reader(relay) ? relay->out.fd : -1 },
	};
	const int gone = relay->out.kind == SINK_SOCKET ? POLLHUP : POLLERR;
	const int ready =
	    poll(fds, sizeof(fds) / sizeof(fds[0]), poll_timeout(relay));

	if (must_give_up(relay))
		give_up(relay);
	if (ready == -1) {
		duration_sleep(MILLISECOND);
		return;
	}
	if (fds[0].revents == 0 && is_asked(relay)) {
		relay->state->answered = relay->page->question;
		notify(relay);
	}
	if (fds[1].revents != 0)
		attend_watchers(relay);
	else if (relay->budget == 0 ||
	         (relay->budget != ALL && fds[0].revents == 0))
		finish(relay);
	if ((fds[2].revents & gone) != 0)
		lose_reader(relay);
	if (fds[0].revents != 0 && relay->budget > 0 && !relay->is_over) {
		if (relay->can_splice && relay->is_bulk && relay->out.fd != -1)
			splice_through(relay);
		else
			copy_through(relay);
	}
	if (relay->hang_up != NEVER && duration_now() >= relay->hang_up)
		relay->is_over = true;
}

/* Delivers the "\r" that waits for a next chunk. To a raw terminal it was
 * written already. */
static void
flush_return(struct relay *relay)
{
	if (!relay->has_return)
		return;
	*chunk_of(relay) = '\r';
	relay->text = chunk_of(relay);
	relay->text_size = 1;
	write_copy(relay);
	deliver(relay, 0);
}

_Noreturn void
relay_run(struct relay *relay)
{
	relay->out = sink_open(relay->out.fd);
	relay->budget = ALL;
	relay->hang_up = NEVER;
	/* Not for a file: splice(2) copies there, too, and locks the pipe. */
	relay->can_splice =
	    relay->search.text == NULL && relay->tee_fd == -1 &&
	    relay->slave_fd == -1 &&
	    (relay->out.kind == SINK_PIPE || relay->out.kind == SINK_FIFO);
	helper_catch_give_up();
	while (!relay->is_over)
		step(relay);
	flush_return(relay);
	relay->state->is_done = true;
	notify(relay); /* the supervisor may wait for this relay alone */
	_exit(0);
}
