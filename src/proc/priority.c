/* The scheduling of wdrun's own processes during a stop: sched(7). */
#include "proc/priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#include <sched.h>
#include <stdint.h>
#include <unistd.h>

#define NICE_LOWEST      (-20)
#define REALTIME_HIGHEST 99 /* sched(7) */
#define RESET_ON_FORK    1  /* SCHED_FLAG_RESET_ON_FORK */

/* The time slice, in nanoseconds. Since Linux 6.12 a process chooses its own
 * (sched_setattr(2), sched_runtime), without a privilege. The process with the
 * shortest slice runs first when it wakes up (pick_eevdf()): before 2,000 busy
 * processes, and not after them. Its share of the processor stays the same: so
 * a long work is faster in usual slices, between which caches get cold. */
#define SLICE_SHORT 500000
#define SLICE_USUAL 0

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
priority_take(enum priority kind)
{
	static pid_t taker; /* a child has the value of its parent */
	static enum priority taken;
	struct rlimit limit;
	/* The highest priority: with a lower one, this process would get a
	 * processor only when no process of the tree with a higher real-time
	 * priority wants it. */
	struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = SCHED_RR,
		.flags = RESET_ON_FORK,
		.priority = REALTIME_HIGHEST,
	};

	/* Each change costs the rest of the time slice. */
	if (taker == getpid() && taken >= kind)
		return;
	taker = getpid();
	taken = kind;
	if (set_attributes(&attributes) == 0)
		return;
	/* Without privileges, the limit may permit a lower priority. */
	if (getrlimit(RLIMIT_RTPRIO, &limit) == 0 && limit.rlim_cur > 0) {
		attributes.priority = (uint32_t)limit.rlim_cur;
		if (set_attributes(&attributes) == 0)
			return;
	}
	attributes.policy = SCHED_OTHER;
	attributes.priority = 0;
	attributes.nice = NICE_LOWEST;
	attributes.runtime = kind == PRIORITY_BRIEF ? SLICE_SHORT : SLICE_USUAL;
	if (set_attributes(&attributes) == 0)
		return;
	attributes.nice = getpriority(PRIO_PROCESS, 0);
	(void)set_attributes(&attributes);
}
