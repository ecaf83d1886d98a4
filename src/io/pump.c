/* Carries the command's output, and keys, in one ppoll(2). */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/message.h"
#include "base/text.h"
#include "io/output.h"
#include "watchdog.h"

#define CHUNKS        16 /* of a stream, between two polls */
#define LAST_READ_MAX ((size_t)2 * 1024 * 1024)
/* fg of a running job sends no signal: so a job in the background looks. */
#define BACKGROUND_INTERVAL (SECOND / 2)

static bool
is_pending(const struct stream *stream)
{
	return stream->chunk.written < stream->chunk.size ||
	       stream->copy.written < stream->copy.size;
}

static void
close_input(struct output *output, struct stream *stream)
{
	output->facts->terminal.had_screen |=
	    terminal_has_screen(stream->in_fd);
	fds_close(stream->in_fd);
	stream->in_fd = -1;
}

/* From now on, what comes is read, but not delivered. */
static void
discard(struct stream *stream)
{
	fds_close(stream->out_fd);
	stream->out_fd = -1;
	stream->chunk.written = stream->chunk.size;
}

/* Reads a chunk. Returns false if there is none now. */
static bool
read_chunk(struct output *output, struct stream *stream)
{
	/* The room before is for the last chunk's end: find_texts(). */
	char *const text = stream->text + UNTIL_MAX;
	const ssize_t length = read(stream->in_fd, text, CHUNK_SIZE);
	struct part *const chunk = &stream->chunk;
	struct part *const copy = &stream->copy;

	/* EIO: no process has the pseudo-terminal open. */
	if (length == 0 || (length == -1 && errno != EAGAIN && errno != EINTR))
		close_input(output, stream);
	if (length <= 0)
		return false;
	output->taken += (uint64_t)length;
	output_note_heard(output);
	*chunk = *copy = (struct part){ .text = text, .size = (size_t)length };
	if (stream->is_terminal) {
		/* The copy is without each "\r" that the pseudo-terminal, and
		 * not the program itself, has added to "\n". A "\r" at the
		 * end waits for the next chunk, or is lost. */
		const bool is_added = fds_adds_returns(stream->in_fd);

		*copy = (struct part){ .text = text + CHUNK_SIZE + UNTIL_MAX };
		for (size_t i = 0; i < chunk->size; i++) {
			if (stream->keeps_return &&
			    (text[i] != '\n' || !is_added))
				copy->text[copy->size++] = '\r';
			stream->keeps_return = text[i] == '\r';
			if (!stream->keeps_return)
				copy->text[copy->size++] = text[i];
		}
		/* Unless we have made it raw, the caller's adds them again; a
		 * "\r" at the end, as of a progress bar, cannot wait. */
		if (fds_adds_returns(stream->out_fd)) {
			*chunk = *copy;
			if (stream->keeps_return)
				chunk->text[chunk->size++] = '\r';
		}
	}
	if (!stream->is_copied || output->tee_fd == -1)
		copy->written = copy->size;
	if (stream->out_fd == -1) {
		output->facts->undelivered += chunk->size;
		chunk->written = chunk->size;
	}
	return true;
}

/* The reader of the caller's pipe is gone. The command's next write then fails
 * as it would without wdrun: SIGPIPE; on a pseudo-terminal, a hang-up. Where
 * the caller's terminal is gone, the front gets its SIGHUP; a copy goes on. */
static void
hang_up(struct output *output, struct stream *stream)
{
	/* The kernel signals the session's leader alone, at whose exit the
	 * foreground job gets SIGHUP. Our leader, the supervisor, lives on. */
	const pid_t group = tcgetpgrp(stream->in_fd); /* of a pipe: -1 */
	const pid_t session = getsid(group); /* -1: no process has that PID */

	/* The number of a group that is dead may be a stranger's by now. */
	if (group > 1 &&
	    (session == -1 || session == tcgetsid(stream->in_fd)) &&
	    (!stream->is_terminal || output->terminal.in_foreground))
		(void)kill(-group, SIGHUP);
	if (!stream->is_terminal || !stream->is_copied || output->tee_fd == -1)
		close_input(output, stream);
	discard(stream); /* but not the rest of the copy */
}

/* An error that is not the reader's ends the stream: if space came back, the
 * output would have a hole. The command runs on, as a script does bare. */
static void
deliver(struct output *output, struct stream *stream)
{
	struct part *const chunk = &stream->chunk;
	const size_t before = chunk->written;
	const int why = fds_write_part(stream->out_fd, chunk);

	output->facts->relayed += chunk->written - before;
	if (stream->has_messages && chunk->written > before)
		message_facts->in_line =
		    chunk->text[chunk->written - 1] != '\n';
	if (why == EPIPE || why == ECONNRESET ||
	    (why == EIO && stream->is_terminal)) {
		hang_up(output, stream);
	} else if (why != 0) {
		message("cannot write to %s: %s; the rest of it is lost",
		        stream->is_stdout ? "stdout" : "stderr", strerror(why));
		output->facts->stdout_is_lost |= stream->is_stdout;
		output->facts->undelivered += chunk->size - chunk->written;
		discard(stream);
	}
}

/* An error ends the copy: with a gap, the file would be no copy. */
static void
write_copy(struct output *output, struct stream *stream)
{
	const int why = fds_write_part(output->tee_fd, &stream->copy);

	if (why == 0)
		return;
	message("--tee: cannot write to '%s': %s; the copy ends here",
	        output->options->tee, strerror(why));
	(void)close(output->tee_fd);
	output->tee_fd = -1;
	for (size_t i = 0; i < output->count; i++)
		output->streams[i].copy.written = output->streams[i].copy.size;
}

/* Looks in a chunk for the texts of --until. Returns whether one is found. */
static bool
find_texts(struct output *output, struct stream *stream)
{
	const struct options *const options = output->options;
	const char *const texts[] = { options->until, options->until_failure };
	struct output_facts *const facts = output->facts;
	char *const chunk = stream->copy.text;
	const char *const end = chunk + stream->copy.size;
	const size_t all = stream->tail + stream->copy.size;
	const char *rest = chunk; /* behind the texts, then behind their line */
	unsigned found = facts->found;

	for (unsigned i = 0; i < 2; i++) {
		if (texts[i] == NULL || (found & 1U << i) != 0)
			continue;

		const size_t length = strlen(texts[i]);
		const char *const start =
		    memmem(chunk - stream->tail, all, texts[i], length);

		if (start == NULL)
			continue;
		found |= 1U << i;
		stream->in_found_line = true;
		if (start + length > rest)
			rest = start + length;
	}
	/* The next chunk will be at CHUNK, too: the end of what is there goes
	 * just before it, so that a text across both is found. */
	stream->tail = all < UNTIL_MAX ? all : UNTIL_MAX;
	memmove(chunk - stream->tail, end - stream->tail, stream->tail);
	if (stream->in_found_line && rest < end) {
		rest = memchr(rest, '\n', (size_t)(end - rest));
		stream->in_found_line = rest == NULL;
		rest = rest == NULL ? end : rest + 1;
	}
	if (found != facts->found || rest < end)
		facts->went_on = rest < end;
	if (facts->found == 0)
		facts->found_at = output->quiet_since;
	return atomic_exchange(&facts->found, found) != found;
}

/* Carries chunks until there is none, or its readers take no more. Returns
 * whether there is news for the supervisor. */
static bool
carry_stream(struct output *output, struct stream *stream)
{
	bool has_news = false;

	for (int i = 0;; i++) {
		const bool was_pending = is_pending(stream);

		write_copy(output, stream);
		deliver(output, stream);
		/* While a reader blocks us, the command is not silent. */
		if (was_pending)
			output->quiet_since = duration_now();
		if (i == CHUNKS || is_pending(stream) || stream->in_fd == -1 ||
		    !read_chunk(output, stream))
			break;
		has_news |= find_texts(output, stream);
	}
	/* All is written: close, so that the reader sees the end. But with a
	 * keyboard, the signal of a last Ctrl-C has to reach the job first. */
	if (stream->in_fd == -1 && !is_pending(stream) &&
	    !output->terminal.is_keyboard)
		discard(stream);
	return has_news;
}

enum {
	AT_SIGNALS,
	AT_KEYS,
	AT_MASTER,
	AT_TEE,
	AT_IN,
	AT_OUT = AT_IN + STREAMS_MAX,
	AT_COUNT = AT_OUT + STREAMS_MAX,
};

static void
fill_polled(const struct output *output, struct pollfd polled[])
{
	const struct terminal *const terminal = &output->terminal;

	for (size_t i = 0; i < output->count; i++) {
		const struct stream *const stream = &output->streams[i];
		struct pollfd *const out = &polled[AT_OUT + i];
		const bool has_rest =
		    stream->chunk.written < stream->chunk.size;

		if (!is_pending(stream))
			polled[AT_IN + i].fd = stream->in_fd;
		/* Without events, poll(2) tells that the reader is gone. */
		if (has_rest || stream->is_watched)
			out->fd = stream->out_fd;
		out->events = has_rest ? POLLOUT : 0;
		if (stream->copy.written < stream->copy.size)
			polled[AT_TEE].fd = output->tee_fd;
	}
	/* Before more keys are read, those that were have to be written. */
	if (terminal->keys.written < terminal->keys.size)
		polled[AT_MASTER].fd = output->streams[0].in_fd;
	else if (terminal->is_keyboard && !terminal->facts->is_over) {
		/* In the background too, poll(2) tells of a hang-up. */
		polled[AT_KEYS].fd = terminal->fd;
		polled[AT_KEYS].events = terminal->in_foreground ? POLLIN : 0;
	}
}

/* When the command has been silent for too long; NEVER while a reader blocks
 * us, or after the text of --until, when silence is what is expected. */
static int64_t
end_of_patience(const struct output *output)
{
	const struct output_facts *const facts = output->facts;
	int64_t since = facts->found != 0 ? NEVER : output->quiet_since;

	if (facts->started > since)
		since = facts->started;
	for (size_t i = 0; i < output->count; i++) {
		if (is_pending(&output->streams[i]))
			return NEVER;
	}
	return duration_add(since, output->options->idle_timeout);
}

static void
carry_keys(struct output *output, const struct pollfd polled[])
{
	struct terminal *const terminal = &output->terminal;
	struct stream *const first = &output->streams[0];

	if (!terminal->is_keyboard)
		return;
	/* In the background, SIGWINCH does not come; after fg, no SIGCONT. */
	if (!terminal->in_foreground) {
		output_copy_size(output);
		terminal_make_raw(terminal);
	}
	/* A terminal that is gone is a hang-up of the command's, too, unless
	 * its output goes elsewhere. */
	if ((polled[AT_KEYS].revents & POLLHUP) != 0) {
		terminal->is_keyboard = false;
		if (first->is_terminal)
			hang_up(output, first);
		return;
	}
	if (polled[AT_KEYS].revents != 0)
		terminal_read_keys(terminal, first->in_fd);
	/* POLLHUP: nobody is left to read keys. */
	if (fds_write_part(first->in_fd, &terminal->keys) != 0 ||
	    (polled[AT_MASTER].revents & POLLHUP) != 0)
		terminal->keys.written = terminal->keys.size;
	if (!terminal->in_foreground)
		terminal_end_raw(terminal, false);
}

bool
output_pump(struct output *output, int signal_fd, int64_t until)
{
	const struct terminal *const terminal = &output->terminal;
	struct pollfd polled[AT_COUNT];
	int64_t wake = end_of_patience(output);
	bool has_news = false;

	for (size_t i = 0; i < AT_COUNT; i++)
		polled[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	polled[AT_SIGNALS].fd = signal_fd;
	polled[AT_MASTER].events = polled[AT_TEE].events = POLLOUT;
	if (output->streams[0].in_fd == -1 || terminal->facts->is_over)
		terminal_end_raw(terminal, true);
	fill_polled(output, polled);
	wake = (wake < until ? wake : until) - duration_now();
	if (terminal->is_keyboard && !terminal->in_foreground &&
	    !terminal->facts->is_over && wake > BACKGROUND_INTERVAL)
		wake = BACKGROUND_INTERVAL;

	/* Not more than are used: RLIMIT_NOFILE bounds the number. */
	const int ready =
	    fds_poll(polled, output->count == 0 ? AT_IN : AT_COUNT, wake, NULL);

	carry_keys(output, polled);
	for (size_t i = 0; i < output->count; i++) {
		struct stream *const stream = &output->streams[i];
		const int out = polled[AT_OUT + i].revents;

		if ((out & (POLLERR | POLLHUP)) != 0 && stream->is_watched)
			hang_up(output, stream);
		else if ((out | polled[AT_IN + i].revents |
		          polled[AT_TEE].revents) != 0)
			has_news |= carry_stream(output, stream);
	}
	/* Where other things have come meanwhile, silence is told later. */
	if (ready == 0 && duration_now() >= end_of_patience(output)) {
		output->quiet_since = duration_now();
		/* Before the target's start, the silence is not its own. */
		output->facts->is_silent |= output->facts->started != 0;
		has_news = true;
	}
	return has_news;
}

void
output_note_heard(struct output *output)
{
	output->facts->heard = output->quiet_since = duration_now();
}

bool
output_is_empty(const struct output *output, bool at_end)
{
	for (size_t i = 0; i < output->count; i++) {
		struct pollfd in = { output->streams[i].in_fd, POLLIN, 0 };

		if (is_pending(&output->streams[i]) ||
		    (in.fd != -1 && (at_end || poll(&in, 1, 0) != 0)))
			return false;
	}
	return true;
}

void
output_finish(struct output *output)
{
	uint64_t uncopied = 0;
	uint64_t untaken = 0;

	for (size_t i = 0; i < output->count; i++) {
		struct stream *const stream = &output->streams[i];
		size_t taken = 0;
		uint64_t lost = 0;

		do {
			taken += stream->chunk.size;
			/* Without gaps: nothing follows what is lost. */
			if (uncopied == 0)
				write_copy(output, stream);
			if (lost == 0)
				deliver(output, stream);
			uncopied += stream->copy.size - stream->copy.written;
			lost += stream->chunk.size - stream->chunk.written;
		} while (taken < LAST_READ_MAX && stream->in_fd != -1 &&
		         read_chunk(output, stream));
		untaken += lost;
		close_input(output, stream);
		discard(stream);
	}
	output->facts->undelivered += untaken;
	if (untaken > 0)
		message("%" PRIu64 " bytes of output are lost: the reader did "
		        "not take them in time",
		        untaken);
	if (uncopied > 0)
		message("--tee: %" PRIu64 " bytes of the copy in '%s' are "
		        "lost: its reader did not take them in time",
		        uncopied, output->options->tee);
}
