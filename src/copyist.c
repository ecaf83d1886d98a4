/* The process that writes the copy. */
#include "copyist.h"

#include <signal.h>

#include "../watchdog.h"
#include "copy.h"
#include "duration.h"
#include "fork.h"
#include "helper.h"
#include "output.h"
#include "relay.h"

#define PATIENCE     SECOND
#define PATIENCE_MAX (10 * SECOND)

static _Noreturn void
become_copyist(const struct run *run)
{
	const struct output *const output = &run->output;
	struct relay relay = {
		.in_fd = output->copy[0],
		.slave_fd = -1,
		.out = outlet_on(output->tee_fd),
		.orders_fd = -1,
		.news_fd = -1,
		.size_fd = -1,
		.room = output->room,
		.out_name = run->options.tee,
		.is_copyist = true,
		.copy = { .fd = -1 },
		.page = output->page,
		.state = &output->page->copy_state,
	};
	int keep[] = { relay.in_fd, relay.out.fd };

	helper_follow(run->front, SIGKILL);
	output_become_helper(run, keep, sizeof(keep) / sizeof(keep[0]));
	relay_run(&relay);
}

int
copyist_start(struct run *run)
{
	struct output *const output = &run->output;

	if (output->tee_fd == -1)
		return 0;
	output->copyist = process_fork();
	if (output->copyist == -1)
		return -1;
	if (output->copyist == 0)
		become_copyist(run);
	helper_add(&run->tree, output->copyist);
	return 0;
}

static void
end_in_time(struct run *run)
{
	const struct output *const output = &run->output;
	const struct relay_state *const state = &output->page->copy_state;
	const int64_t start = duration_now();
	int64_t now = start;

	while (!helper_await(&run->tree, output->copyist) &&
	       (now - start < PATIENCE || (now - state->active_at < PATIENCE &&
	                                   now - start < PATIENCE_MAX)))
		now = duration_now();
	(void)helper_end(&run->tree, output->copyist, HELPER_GIVE_UP);
	if (!state->is_done || state->undelivered > 0)
		copy_end(run->options.tee, &output->page->copy_is_over,
		         "it does not take the end");
}

void
copyist_end(struct run *run)
{
	const struct output *const output = &run->output;

	if (output->copyist == 0)
		return;
	if (output->page->order == RELAY_DETACH)
		output_let_go(run, output->copyist, &output->page->copy_state);
	else
		end_in_time(run);
}
