/* Starts, wakes and ends the relays of the command's output. */
#include "io/output.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/message.h"
#include "proc/helper.h"
#include "proc/wait.h"

#define DETACH_PATIENCE_MS 200
#define DRAIN_PATIENCE_MS  1000

static _Noreturn void
become_relay(const struct output *output, struct relay *relay)
{
	int keep[] = { relay->in_fd,  relay->slave_fd, relay->out.fd,
		       relay->tee_fd, relay->wake_fd,  relay->notify_fd,
		       relay->size_fd };

	helper_become(RELAY_NAME, output->config.null_fd, keep,
	              sizeof(keep) / sizeof(keep[0]));
	relay_run(relay);
}

int
output_start(struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++) {
		struct channel *const channel = &output->channels[i];

		channel->pid = helper_fork(SIGKILL);
		if (channel->pid == -1)
			return -1;
		if (channel->pid == 0)
			become_relay(output, &channel->relay);
	}
	return tty_input_start(&output->tty_input, output->config.null_fd);
}

void
output_keep(const struct output *output, int keep[])
{
	keep[0] = output->notify_pipe[0];
	keep[1] = output->tty_input.wake_fd;
	keep[2] = output->tty_input.terminal_fd;
	keep[3] = output->has_pty ? output->channels[0].command_fd : -1;
	for (size_t i = 0; i < RELAYS_MAX; i++)
		keep[4 + i] = output->channels[i].relay.wake_fd;
}

int
output_lead(const struct output *output)
{
	return output->has_pty
	           ? ioctl(output->channels[0].command_fd, TIOCSCTTY, 0)
	           : 0;
}

int
output_connect(const struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++) {
		const struct channel *const channel = &output->channels[i];

		if (channel->is_stdout &&
		    dup2(channel->command_fd, STDOUT_FILENO) == -1)
			return -1;
		if (channel->is_stderr &&
		    dup2(channel->command_fd, STDERR_FILENO) == -1)
			return -1;
	}
	if (!output->has_pty)
		return 0;
	if (output->tty_input.is_stdin &&
	    dup2(output->channels[0].command_fd, STDIN_FILENO) == -1)
		return -1;
	if (tcsetpgrp(STDOUT_FILENO, getpid()) == -1)
		return -1;
	tty_input_note_group(&output->tty_input);
	return 0;
}

void
output_note_exit(struct output *output)
{
	if (!output->has_pty)
		return;
	/* As a shell does. When the session leader, this process, ends, the
	 * kernel sends SIGHUP to the foreground group (disassociate_ctty()). */
	(void)tcsetpgrp(output->channels[0].command_fd, getpgrp());
	tty_input_finish(&output->tty_input);
}

void
output_wake(const struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++) {
		const int wake_fd = output->channels[i].relay.wake_fd;

		/* Tried twice: a watcher may wait without a bound for a relay
		 * that was not woken. */
		if (eventfd_write(wake_fd, 1) == -1)
			(void)eventfd_write(wake_fd, 1);
	}
}

void
output_finish(struct output *output, bool detach)
{
	if (output->channel_count == 0)
		return;
	output->page->order = detach ? RELAY_DETACH : RELAY_FINISH;
	output_wake(output);
}

void
output_read_notices(struct output *output)
{
	char bytes[64];
	ssize_t length;

	do
		length = read(output->notify_pipe[0], bytes, sizeof(bytes));
	while (length > 0 || (length == -1 && errno == EINTR));
	if (length == -1)
		return;
	/* End-of-file: the last relay is gone. */
	(void)close(output->notify_pipe[0]);
	output->notify_pipe[0] = -1;
	output->is_open = false;
}

void
output_ask(struct output *output)
{
	output->page->question++;
	output_wake(output);
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct output_progress
output_read_progress(const struct output *output, int64_t now)
{
	struct output_progress all = { .found_at = NEVER,
		                       .has_answered = true };

	for (size_t i = 0; i < output->channel_count; i++) {
		const struct relay_state *const state =
		    output->channels[i].relay.state;
		/* First: a relay answers after setting what is read below. */
		const bool has_answered =
		    state->is_done || state->answered == output->page->question;
		const int64_t found_at = state->found_at;
		const int64_t blocked_at = state->blocked_at;

		all.has_answered &= has_answered;
		all.relayed += state->relayed;
		all.dropped += state->dropped;
		all.undelivered += state->undelivered;
		if (found_at != 0 && found_at < all.found_at)
			all.found_at = found_at;
		all.heard_at = later(all.heard_at, state->active_at);
		if (state->is_done)
			continue;
		if (blocked_at != 0)
			all.heard_at = later(all.heard_at, now);
		all.stuck_since =
		    later(all.stuck_since, blocked_at != 0 ? blocked_at : now);
	}
	return all;
}

void
output_drain(struct output *output)
{
	if (!output->is_open)
		return;
	output_ask(output);
	for (int i = 0; i < DRAIN_PATIENCE_MS &&
	                !output_read_progress(output, 0).has_answered;
	     i++)
		duration_sleep(MILLISECOND);
}

bool
output_has_lost_reader(const struct output *output)
{
	bool has = false;

	for (size_t i = 0; i < output->channel_count; i++)
		has |= atomic_exchange(
		    &output->channels[i].relay.state->lost_reader, false);
	return has;
}

static void
tell_killed(const struct channel *channel)
{
	message("the relay of %s was killed: output may be lost",
	        channel->relay.out_name);
}

void
output_continue(const struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++)
		helper_continue(output->channels[i].pid);
	helper_continue(output->tty_input.pid);
}

void
output_note_death(struct output *output, pid_t pid)
{
	tty_input_note_death(&output->tty_input, pid);
	for (size_t i = 0; i < output->channel_count; i++) {
		const struct channel *const channel = &output->channels[i];

		if (channel->pid != pid)
			continue;
		if (!channel->relay.state->is_done)
			tell_killed(channel);
		channel->relay.state->is_done = true;
		/* The helper of tty_input has the master open, too: the helper
		 * ends, and the command gets SIGHUP, as from a terminal that is
		 * closed. */
		if (channel->relay.slave_fd != -1)
			tty_input_end(&output->tty_input);
	}
}

/* Waits until a relay has detached, as ordered. Where the reader is stuck, the
 * relay detaches by HELPER_GIVE_UP. */
static void
let_detach(const struct channel *channel)
{
	for (int i = 0; i < DETACH_PATIENCE_MS; i++) {
		if (channel->relay.state->is_done ||
		    wait_reap(channel->pid) != CHILD_NONE_READY)
			return;
		(void)kill(channel->pid, HELPER_GIVE_UP);
		duration_sleep(MILLISECOND);
	}
}

static void
end_relay(const struct channel *channel)
{
	const struct relay_state *const state = channel->relay.state;

	if (state->is_done) {
		(void)helper_await(channel->pid, 0);
	} else if (helper_await(channel->pid, HELPER_GIVE_UP)) {
		/* A relay that ends by itself has set is_done. */
		if (!state->is_done)
			tell_killed(channel);
	} else {
		(void)helper_end(channel->pid, SIGKILL);
		message("the relay of %s (PID %d) hung, in a file system "
		        "perhaps: output may be lost",
		        channel->relay.out_name, channel->pid);
	}
}

void
output_end(struct output *output)
{
	tty_input_end(&output->tty_input);
	for (size_t i = 0; i < output->channel_count; i++) {
		const struct channel *const channel = &output->channels[i];

		if (channel->pid <= 0)
			continue; /* output_start() has failed */
		if (output->page->order == RELAY_DETACH)
			let_detach(channel);
		else
			end_relay(channel);
	}

	const uint64_t lost = output_read_progress(output, 0).undelivered;

	if (lost > 0 && !output->config.quiet)
		message("%" PRIu64 " bytes of output are lost: the reader did "
		        "not take them in time",
		        lost);
}
