/* Whether the processes of a tree do something. */
#include "proc/activity.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "proc/procfs.h"
#include "proc/signals.h"
#include "proc/tree.h"

#define THREADS_MAX 1024 /* more are not looked at */
#define CPU_SHARE   50   /* a 50th of a processor is progress */
#define BYTES       1024 /* a second */

struct task {
	pid_t id;
	uint64_t bytes; /* of calls that have returned */
	uint64_t pages; /* bytes, as they go to a disk or come from it */
	int64_t ready;  /* for how long it had a processor, or waited for one */
	bool runs;      /* it does now; only where READY is not known */
};

/* A list of threads, in the order of the tree. */
struct sample {
	size_t count;
	struct task threads[THREADS_MAX];
};

/* Reads thread ID of PID, as far as this process may. The "io" file of the
 * process has its reaped children in it: so a loop of short commands would
 * count as progress. */
static struct task
sample_thread(pid_t pid, pid_t id)
{
	struct task thread = { .id = id };
	char text[512];
	struct procstat stat;

	(void)procfs_read(text, sizeof(text), "%d/task/%d/io", pid, id);
	thread.bytes =
	    procfs_number(text, "rchar: ") + procfs_number(text, "\nwchar: ");
	thread.pages = procfs_number(text, "\nread_bytes: ") +
	               procfs_number(text, "\nwrite_bytes: ");
	(void)procfs_read(text, sizeof(text), "%d/task/%d/schedstat", pid, id);
	if (*text != '\0')
		thread.ready = strtoll(text, NULL, 10) +
		               strtoll(procfs_value(text, " "), NULL, 10);
	else /* without CONFIG_SCHED_INFO */
		thread.runs =
		    procstat_read_status(id, &stat) == 0 && stat.state == 'R';
	return thread;
}

/* Adds what THREAD has done since the sample OLD, if it is there. */
static void
compare(struct activity *activity, const struct sample *old,
        const struct task *thread, int64_t span)
{
	const struct task *before = old->threads;
	const struct task *const end = before + old->count;

	while (before < end && before->id != thread->id)
		before++;
	/* Less than before: the ID has got another thread. */
	if (before == end || thread->bytes < before->bytes ||
	    thread->ready < before->ready)
		return;

	const int64_t ready = thread->ready - before->ready;

	/* A call of cp(1), sendfile(2) say, can take minutes. */
	activity->bytes += thread->bytes != before->bytes
	                       ? thread->bytes - before->bytes
	                       : thread->pages - before->pages;
	/* One that sleeps, and ticks, waits at each tick on a busy machine. */
	if (ready >= span / 2)
		activity->work += ready;
	if (thread->runs && before->runs)
		activity->work += span;
}

bool
activity_sample(struct activity *activity, const struct tree *tree, int64_t now)
{
	static struct sample old, new;
	static struct procfs_list ids;
	const int64_t span = now - activity->last;
	long memory;
	int64_t cpu = wait_usage(&memory);

	new.count = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const pid_t pid = tree->members[i].pid;
		struct procstat stat;

		if (procstat_read(pid, &stat) == -1)
			continue;
		cpu += stat.cpu;
		procfs_list_of(pid, "task", &ids);
		for (size_t j = 0; j < ids.count && new.count < THREADS_MAX;
		     j++) {
			struct task *const thread = &new.threads[new.count++];

			*thread = sample_thread(pid, ids.numbers[j]);
			compare(activity, &old, thread, span);
		}
	}
	old = new;
	if (activity->since == 0) /* what was compared is dropped */
		*activity = (struct activity){ .since = now, .cpu = cpu };

	const int64_t used = cpu - activity->cpu;

	/* A dead process leaves the sum, and comes back whole when it is
	 * reaped: so a fall is no debt, and a rise counts as SPAN at most. */
	if (used > 0)
		activity->work += used < span ? used : span;
	activity->cpu = cpu;
	activity->last = now;

	const int64_t whole = now - activity->since;

	return whole > 0 &&
	       (activity->work * CPU_SHARE >= whole ||
	        activity->bytes >=
	            (uint64_t)(whole / MILLISECOND) * BYTES / 1000);
}
