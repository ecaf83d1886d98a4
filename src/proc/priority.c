/* The scheduling of a watcher during a stop: sched(7). */
#include "proc/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

/* With a lower one, real-time processes of the tree could keep this process
 * from a processor. */
#define REALTIME_HIGHEST 99
#define RESET_ON_FORK    1 /* SCHED_FLAG_RESET_ON_FORK */

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

static int
set_attributes(const struct attributes *attributes)
{
	return (int)syscall(SYS_sched_setattr, 0, attributes, 0);
}

void
priority_take(void)
{
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_RR,
		.flags = RESET_ON_FORK,
		.priority = REALTIME_HIGHEST,
	};

	if (set_attributes(&attributes) == 0)
		return;
	attributes.policy = SCHED_OTHER;
	attributes.priority = 0;
	attributes.nice = getpriority(PRIO_PROCESS, 0);
	attributes.runtime = SLICE_SHORT;
	(void)set_attributes(&attributes);
}
