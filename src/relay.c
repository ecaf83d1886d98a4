/* Carrying the command's output, in a process that may block. */
#include "relay.h"

#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "flow.h"
#include "helper.h"
#include "signals.h"

#define PTY_CAPACITY ((size_t)1024 * 1024) /* more than any holds */

static volatile sig_atomic_t is_to_give_up;

static void
note_give_up(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_pid == getppid())
		is_to_give_up = 1;
}

/* Without SA_RESTART: what blocks has to return. */
static void
listen_for_give_up(void)
{
	const struct sigaction action = {
		.sa_sigaction = note_give_up,
		.sa_flags = SA_SIGINFO,
	};

	(void)sigaction(HELPER_GIVE_UP, &action, NULL);
	(void)signals_set_mask(~(UINT64_C(1) << (HELPER_GIVE_UP - 1)));
}

/* What was written until now has been delivered. */
static void
finish(struct flow *flow)
{
	if (flow->order == RELAY_FINISH)
		flow->is_over = true;
	else
		flow_detach(flow);
}

static void
heed_orders(struct flow *flow)
{
	struct relay *const relay = flow->relay;
	const enum relay_order order = (enum relay_order)relay->page->order;
	eventfd_t times;
	int waiting = 0;

	(void)eventfd_read(relay->orders_fd, &times);
	flow_follow_size(relay);
	/* The copyist ends when the others have, at the end of the file. */
	if (order <= flow->order || relay->is_copyist)
		return;
	flow->order = order;
	/* No more than there is: whoever holds the pipe, and is beyond our
	 * reach, may write for ever. */
	if (relay->slave_fd != -1 ||
	    ioctl(relay->in_fd, FIONREAD, &waiting) == -1)
		flow->left = PTY_CAPACITY;
	else
		flow->left = (size_t)waiting;
}

/*
 * Whether a watcher wants to know that there is nothing left to be read: a
 * relay that was stopped, or had no processor, may not have heard it yet.
 */
static bool
is_asked(const struct flow *flow)
{
	return !flow->is_detached && !flow->relay->is_copyist &&
	       flow->relay->state->answered != flow->relay->page->question;
}

static int
patience_ms(const struct flow *flow)
{
	if (flow->left != FLOW_EVERYTHING || is_asked(flow))
		return 0;
	if (flow->hang_up == NEVER)
		return -1;

	const int64_t left = flow->hang_up - duration_now_fast();

	return left <= 0 ? 0 : (int)(left / MILLISECOND) + 1;
}

/*
 * Whether the reader's end is noticed when it comes. Not for a terminal's
 * output, since the SIGPIPE that is made there by hand is for who writes; nor
 * where the next reader may come.
 */
static bool
watches_reader(const struct flow *flow)
{
	return flow->relay->slave_fd == -1 &&
	       outlet_has_one_reader(&flow->relay->out);
}

/* Sleeps until there is something to carry or an order, and does it. */
static void
go_on(struct flow *flow)
{
	struct relay *const relay = flow->relay;
	struct pollfd fds[] = {
		{ .fd = relay->in_fd, .events = POLLIN },
		{ .fd = relay->orders_fd, .events = POLLIN },
		{ .fd = watches_reader(flow) ? relay->out.fd : -1 },
	};
	/* A socket's error may be that of the last datagram. */
	const int gone = relay->out.kind == OUTLET_SOCKET ? POLLHUP : POLLERR;
	const struct timespec moment = { .tv_nsec = MILLISECOND };
	const int ready =
	    poll(fds, sizeof(fds) / sizeof(fds[0]), patience_ms(flow));

	if (is_to_give_up && !flow->is_detached)
		flow_give_up(flow);
	if (flow->is_detached)
		is_to_give_up = 0; /* that was meant by it */
	if (ready == -1) {
		(void)nanosleep(&moment, NULL);
		return;
	}
	if (fds[0].revents == 0 && is_asked(flow)) {
		relay->state->answered = relay->page->question;
		flow_tell_news(flow);
	}
	if (fds[1].revents != 0)
		heed_orders(flow);
	else if (flow->left == 0 ||
	         (flow->left != FLOW_EVERYTHING && fds[0].revents == 0))
		finish(flow);
	if ((fds[2].revents & gone) != 0)
		flow_lose_reader(flow);
	if (fds[0].revents != 0 && flow->left > 0 && !flow->is_over)
		flow_carry(flow);
	if (flow->hang_up != NEVER && duration_now_fast() >= flow->hang_up)
		flow->is_over = true;
}

_Noreturn void
relay_run(struct relay *relay)
{
	struct flow flow = { .relay = relay, .gives_up = &is_to_give_up };

	flow_begin(&flow);
	listen_for_give_up();
	while (!flow.is_over)
		go_on(&flow);
	relay->state->is_done = true;
	/* Another one may be all that is waited for now. */
	flow_tell_news(&flow);
	_exit(0);
}
