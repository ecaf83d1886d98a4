/* What front and supervisor tell each other. */
#include "run/talk.h"

#include <signal.h>
#include <unistd.h>

#include "run/run.h"

void
talk_order(const struct run *run, struct order order)
{
	/* EPIPE: the supervisor is dead. EAGAIN: it has hung for long. */
	if (write(run->watchers.orders[1], &order, sizeof(order)) == -1)
		return;
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
	if (write(run->watchers.news[1], news, sizeof(*news)) == -1)
		return;
	if (is_urgent)
		talk_signal_front(run, SIGCHLD);
}
