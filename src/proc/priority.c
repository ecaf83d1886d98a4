/* The scheduling of wdrun's own processes during a stop: sched(7). */
#include "proc/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <sched.h>
#include <unistd.h>

#define NICE_LOWEST (-20)

/* By syscall(2): musl's sched_setscheduler(3) always fails. */
void
priority_take(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct sched_param none = { .sched_priority = 0 };

	if (syscall(SYS_sched_setscheduler, 0, SCHED_RR | SCHED_RESET_ON_FORK,
	            &first) == 0)
		return;
	(void)syscall(SYS_sched_setscheduler, 0,
	              SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
	(void)setpriority(PRIO_PROCESS, 0, NICE_LOWEST);
}
