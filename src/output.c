/* The command's output on its way to the caller, where wdrun has to see it. */
#include "output.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../watchdog.h"
#include "console.h"
#include "copyist.h"
#include "descriptors.h"
#include "duration.h"
#include "fork.h"
#include "helper.h"
#include "message.h"
#include "relay.h"

#define LET_GO_PATIENCE_MS 200
#define WAKE_TRIES         10

static const char *
name_of(const struct channel *channel)
{
	return channel->is_stdout ? "stdout" : "stderr";
}

void
output_become_helper(const struct run *run, int keep[], size_t count)
{
	(void)prctl(PR_SET_NAME, "wd-relay", 0, 0, 0);
	descriptors_release(run->null_fd, keep, count);
}

static _Noreturn void
become_relay(const struct run *run, size_t number)
{
	const struct output *const output = &run->output;
	const struct channel *const channel = &output->channels[number];
	const char *const text = run->options.until;
	struct relay relay = {
		.in_fd = channel->in_fd,
		.slave_fd = channel->is_pty ? channel->command_fd : -1,
		.out = outlet_on(channel->out_fd),
		.copy = { output->copy[1], run->options.tee,
		          &output->page->copy_state.active_at,
		          &output->page->copy_is_over },
		.orders_fd = channel->orders_fd,
		.news_fd = output->news[1],
		.size_fd = channel->is_pty ? output->size_fd : -1,
		.room = output->room,
		.out_name = name_of(channel),
		.search = { text, text == NULL ? 0 : strlen(text), 0 },
		.page = output->page,
		.state = &output->page->states[number],
	};
	int keep[] = { relay.in_fd,   relay.slave_fd,  relay.out.fd,
		       relay.copy.fd, relay.orders_fd, relay.news_fd,
		       relay.size_fd };

	helper_follow(run->front, SIGKILL);
	output_become_helper(run, keep, sizeof(keep) / sizeof(keep[0]));
	relay_run(&relay);
}

int
output_start(struct run *run)
{
	struct output *const output = &run->output;

	for (size_t i = 0; i < output->channel_count; i++) {
		const pid_t relay = process_fork();

		if (relay == -1)
			return -1;
		if (relay == 0)
			become_relay(run, i);
		output->channels[i].relay = relay;
		helper_add(&run->tree, relay);
	}
	if (copyist_start(run) == -1)
		return -1;
	return console_start(run);
}

void
output_keep(const struct run *run, int keep[])
{
	const struct output *const output = &run->output;
	const bool is_used = output->channel_count > 0;

	keep[0] = is_used ? output->news[0] : -1;
	keep[1] = output->has_keyboard ? output->keyboard_orders_fd : -1;
	keep[2] = output->has_keyboard ? output->keyboard_fd : -1;
	for (size_t i = 0; i < OUTPUT_CHANNELS; i++)
		keep[3 + i] = i < output->channel_count
		                  ? output->channels[i].orders_fd
		                  : -1;
}

int
output_give(const struct run *run)
{
	const struct output *const output = &run->output;

	for (size_t i = 0; i < output->channel_count; i++) {
		const struct channel *const channel = &output->channels[i];

		if (channel->is_stdout &&
		    dup2(channel->command_fd, STDOUT_FILENO) == -1)
			return -1;
		if (channel->is_stderr &&
		    dup2(channel->command_fd, STDERR_FILENO) == -1)
			return -1;
	}
	if (!run->options.pty)
		return 0;
	if (output->has_keyboard &&
	    dup2(output->channels[0].command_fd, STDIN_FILENO) == -1)
		return -1;
	return ioctl(STDOUT_FILENO, TIOCSCTTY, 0);
}

static void
wake(int orders_fd)
{
	/* It never gets so full that it would refuse. But a relay that is not
	 * woken might be waited for without a bound: so for whatever reason it
	 * fails, it is tried again. */
	for (int i = 0; i < WAKE_TRIES; i++) {
		if (eventfd_write(orders_fd, 1) == 0)
			return;
	}
}

static void
wake_relays(const struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++)
		wake(output->channels[i].orders_fd);
}

void
output_finish(struct run *run, bool detach)
{
	struct output *const output = &run->output;

	if (output->channel_count == 0)
		return;
	output->page->order = detach ? RELAY_DETACH : RELAY_FINISH;
	wake_relays(output);
}

void
output_listen(struct output *output)
{
	char bytes[64];
	ssize_t length;

	do
		length = read(output->news[0], bytes, sizeof(bytes));
	while (length > 0 || (length == -1 && errno == EINTR));
	if (length == -1)
		return;
	/* The last relay is gone. */
	(void)close(output->news[0]);
	output->news[0] = -1;
	output->is_open = false;
}

int64_t
output_heard_at(const struct output *output, int64_t now)
{
	int64_t heard_at = 0;

	for (size_t i = 0; i < output->channel_count; i++) {
		const struct relay_state *const state =
		    &output->page->states[i];

		if (!state->is_done && state->blocked_at != 0)
			return now;
		if (state->active_at > heard_at)
			heard_at = state->active_at;
	}
	return heard_at;
}

int64_t
output_stuck_since(const struct output *output, int64_t now)
{
	int64_t since = 0;

	for (size_t i = 0; i < output->channel_count; i++) {
		const struct relay_state *const state =
		    &output->page->states[i];
		const int64_t blocked_at = state->blocked_at;

		if (state->is_done)
			continue;
		if (blocked_at == 0)
			return now;
		if (blocked_at > since)
			since = blocked_at;
	}
	return since;
}

void
output_ask(struct output *output)
{
	output->page->question++;
	wake_relays(output);
}

bool
output_has_answered(const struct output *output)
{
	for (size_t i = 0; i < output->channel_count; i++) {
		const struct relay_state *const state =
		    &output->page->states[i];

		if (!state->is_done &&
		    state->answered != output->page->question)
			return false;
	}
	return true;
}

struct output_sums
output_sum(const struct output *output)
{
	struct output_sums sums = { .relayed = 0 };

	for (size_t i = 0; i < output->channel_count; i++) {
		const struct relay_state *const state =
		    &output->page->states[i];

		sums.relayed += state->relayed;
		sums.dropped += state->dropped;
		sums.undelivered += state->undelivered;
	}
	return sums;
}

int64_t
output_found_at(const struct output *output)
{
	int64_t first = NEVER;

	for (size_t i = 0; i < output->channel_count; i++) {
		const int64_t found_at = output->page->states[i].found_at;

		if (found_at != 0 && found_at < first)
			first = found_at;
	}
	return first;
}

bool
output_has_lost_reader(struct output *output)
{
	if (output->told_lost_reader)
		return false;
	for (size_t i = 0; i < output->channel_count; i++)
		output->told_lost_reader |= output->page->states[i].lost_reader;
	return output->told_lost_reader;
}

void
output_resize(const struct run *run)
{
	wake_relays(&run->output);
}

static void
tell_killed(const struct channel *channel)
{
	message("the relay of %s was killed: output may be lost",
	        name_of(channel));
}

void
output_note_death(struct run *run, pid_t pid)
{
	struct output *const output = &run->output;

	console_note_death(run, pid);
	for (size_t i = 0; i < output->channel_count; i++) {
		const struct channel *const channel = &output->channels[i];
		struct relay_state *const state = &output->page->states[i];

		if (channel->relay != pid)
			continue;
		if (!state->is_done)
			tell_killed(channel);
		state->is_done = true;
		/* It holds the master too, which is to be closed now. */
		if (channel->is_pty)
			console_end(run);
	}
}

void
output_let_go(struct run *run, pid_t relay, const struct relay_state *state)
{
	const struct timespec moment = { .tv_nsec = MILLISECOND };

	for (int i = 0; i < LET_GO_PATIENCE_MS; i++) {
		proctree_reap_child(&run->tree, relay);
		if (state->is_done || !helper_is(&run->tree, relay))
			return;
		(void)kill(relay, HELPER_GIVE_UP);
		(void)nanosleep(&moment, NULL);
	}
}

/* Ends the relay of one channel. Returns how many bytes are lost with it. */
static uint64_t
end_relay(struct run *run, size_t number)
{
	const struct output *const output = &run->output;
	const struct channel *const channel = &output->channels[number];
	const struct relay_state *const state = &output->page->states[number];

	if (!state->is_done)
		proctree_reap_child(&run->tree, channel->relay);
	if (state->is_done) {
		(void)helper_await(&run->tree, channel->relay);
	} else if (helper_ask(&run->tree, channel->relay, HELPER_GIVE_UP)) {
		/* It may have been dying when it was asked. */
		if (!state->is_done)
			tell_killed(channel);
	} else {
		(void)helper_end(&run->tree, channel->relay, SIGKILL);
		message("the relay of %s (PID %d) hung, in a file system "
		        "perhaps: output may be lost",
		        name_of(channel), channel->relay);
	}
	return state->undelivered;
}

void
output_end(struct run *run)
{
	struct output *const output = &run->output;
	uint64_t lost = 0;

	console_end(run);
	for (size_t i = 0; i < output->channel_count; i++) {
		if (output->channels[i].relay == 0)
			continue; /* there was no process for it */
		if (output->page->order == RELAY_DETACH)
			output_let_go(run, output->channels[i].relay,
			              &output->page->states[i]);
		else
			lost += end_relay(run, i);
	}
	copyist_end(run);
	if (lost > 0 && !run->options.quiet)
		message("%" PRIu64 " bytes of output are lost: they were not "
		        "read in time",
		        lost);
}
