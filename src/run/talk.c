/* What front and supervisor tell each other. */
#include "run/talk.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "run/run.h"

/* Writes into a pipe between the watchers, at once or not at all. EPIPE: the
 * other one is dead. EAGAIN: it has hung for long. No other error is one of a
 * pipe, and an order that is lost could let a run go on for ever. */
static void
send(int fd, const void *data, size_t size)
{
	while (write(fd, data, size) == -1 && errno != EPIPE && errno != EAGAIN)
		;
}

void
talk_order(const struct run *run, struct order order)
{
	send(run->watchers.orders[1], &order, sizeof(order));
}

/* Not to a front in another PID namespace ("unshare --pid" without a fork),
 * which has no PID here; nor to a dead one, whose PID may be another's. */
void
talk_signal_front(const struct run *run, int signal)
{
	const pid_t front = run->watchers.front;

	if (!run->watchers.is_front && front > 0 && getppid() == front)
		(void)kill(front, signal);
}

void
talk_news(const struct run *run, const struct news *news, bool is_urgent)
{
	if (run->watchers.is_front)
		return;
	/* The pipe has room for all that a run has to tell, but for the stops
	 * of a front that does not read them. */
	send(run->watchers.news[1], news, sizeof(*news));
	if (is_urgent)
		talk_signal_front(run, SIGCHLD);
}
