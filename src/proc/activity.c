/* Whether the processes of a tree do something. */
#include "proc/activity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/procfs.h"
#include "proc/tree.h"

#define THREADS_MAX 1024 /* more are not looked at */
#define PATH_SIZE   64
#define CPU_SHARE   50   /* so much less than a processor is no progress */
#define BYTES       1024 /* a second */

struct thread {
	pid_t id;
	uint64_t bytes;
	int64_t waited;
	bool runs; /* or could, if it had a processor */
};

/* The last two samples, each in the order of the IDs. */
static struct thread threads[2][THREADS_MAX];
static size_t counts[2];

static int
compare_ids(const void *left, const void *right)
{
	const pid_t one = ((const struct thread *)left)->id;
	const pid_t other = ((const struct thread *)right)->id;

	return (one > other) - (one < other);
}

/* Reads the THREAD of PID. By the thread: what the kernel tells of a process
 * has its reaped children in it, so that a loop of short commands would work.
 */
static void
read_thread(pid_t pid, struct thread *thread)
{
	char path[PATH_SIZE];
	char text[512];
	struct procstat stat;

	(void)snprintf(path, sizeof(path), "task/%d/io", thread->id);
	(void)procfs_read(pid, path, text, sizeof(text)); /* if it may */
	thread->bytes = strtoull(procfs_value(text, "rchar: "), NULL, 10) +
	                strtoull(procfs_value(text, "\nwchar: "), NULL, 10);
	(void)snprintf(path, sizeof(path), "task/%d/schedstat", thread->id);
	if (procfs_read(pid, path, text, sizeof(text)) > 0) {
		thread->waited = strtoll(procfs_value(text, " "), NULL, 10);
		return;
	}
	/* Without CONFIG_SCHED_INFO. */
	(void)procstat_read_status(thread->id, &stat);
	thread->runs = stat.state == 'R';
}

/* Reads the threads of TREE to SAMPLE. Returns the CPU time of the tree. */
static int64_t
read_threads(const struct tree *tree, int sample)
{
	static struct procfs_list ids;
	long memory;
	int64_t cpu = wait_usage(&memory);

	counts[sample] = 0;
	for (size_t i = 0; i < tree->count; i++) {
		const pid_t pid = tree->members[i].pid;
		struct procstat stat;

		if (procstat_read(pid, &stat) == -1)
			continue;
		cpu += stat.cpu;

		const int dir = procfs_dir(pid);

		procfs_list_names(dir, "task", &ids);
		fds_close(dir);
		for (size_t j = 0;
		     j < ids.count && counts[sample] < THREADS_MAX; j++) {
			struct thread thread = { .id = ids.numbers[j] };

			read_thread(pid, &thread);
			threads[sample][counts[sample]++] = thread;
		}
	}
	qsort(threads[sample], counts[sample], sizeof(struct thread),
	      compare_ids);
	return cpu;
}

void
activity_sample(struct activity *activity, const struct tree *tree, int64_t now)
{
	static int sample;
	const bool is_first = activity->since == 0;
	const int before = sample;
	int64_t cpu;

	sample = !sample;
	cpu = read_threads(tree, sample);
	if (is_first)
		*activity = (struct activity){ .since = now, .before = cpu };
	activity->used = cpu - activity->before;
	for (size_t i = 0; i < counts[sample] && !is_first; i++) {
		const struct thread *const thread = &threads[sample][i];
		const struct thread *const old =
		    bsearch(thread, threads[before], counts[before],
		            sizeof(*old), compare_ids);

		/* Less than before: the ID has got another thread. */
		if (old == NULL || thread->bytes < old->bytes ||
		    thread->waited < old->waited)
			continue;
		activity->bytes += thread->bytes - old->bytes;
		activity->waited += thread->waited - old->waited;
		if (thread->runs && old->runs)
			activity->waited += now - activity->last;
	}
	activity->last = now;
}

bool
activity_is_progress(const struct activity *activity)
{
	const int64_t span = activity->last - activity->since;

	return span > 0 &&
	       ((activity->used + activity->waited) * CPU_SHARE >= span ||
	        activity->bytes >=
	            (uint64_t)(span / MILLISECOND) * BYTES / 1000);
}
