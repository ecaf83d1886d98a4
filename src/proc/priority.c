/* The scheduling of a watcher during a stop: sched(7). */
#include "proc/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#define NICE_LOWEST (-20)
#define REALTIME_HIGHEST                                                       \
	99              /* with a lower one, real-time processes of the tree   \
	                 * could keep this process from a processor */
#define RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK */

/* The time slice, in nanoseconds. Since Linux 6.12 a process chooses its own,
 * without a privilege (sched_setattr(2), sched_runtime). The process with the
 * shortest slice runs first when it wakes up (pick_eevdf()): before 2,000 busy
 * processes, and not after them. Its share of the processor stays the same. */
#define SLICE_SHORT 500000

/* sched_setattr(2): musl and older versions of glibc do not have it. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static bool
set(const struct attributes *attributes)
{
	return syscall(SYS_sched_setattr, 0, attributes, 0) == 0;
}

void
priority_take(void)
{
	static pid_t taker; /* a child has the value of its parent */
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_RR,
		.flags = RESET_ON_FORK,
		.priority = REALTIME_HIGHEST,
	};

	if (taker == getpid())
		return;
	taker = getpid();
	if (set(&attributes))
		return;
	attributes.policy = SCHED_OTHER;
	attributes.priority = 0;
	attributes.nice = NICE_LOWEST;
	attributes.runtime = SLICE_SHORT;
	if (set(&attributes))
		return;
	attributes.nice = getpriority(PRIO_PROCESS, 0);
	(void)set(&attributes);
}
