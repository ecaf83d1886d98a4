/* What /proc/PID/stat says of a process, proc(5); and knowing a process again
 * by the time of its start. */
#include "proc/procstat.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "proc/procfs.h"

#define STAT_SIZE 1024

/* The fields 3 to 22, and the blank that shows that the last one is whole. */
#define FIELDS                                                                 \
	") %c %d %*s %d %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64      \
	" %" SCNu64 " %" SCNu64 " %*s %*s %ld %*s %" SCNu64 "%c"
#define FIELD_COUNT 10 /* without those that are skipped */

int
procstat_parse(const char *text, struct procstat *stat)
{
	/* The name may hold blanks and parentheses. */
	const char *const name_end = strrchr(text, ')');
	uint64_t cpu[4]; /* user and system, then those of the children */
	char blank;

	/* The numbers are the kernel's, and fit. NOLINTBEGIN(cert-err34-c) */
	if (name_end == NULL ||
	    sscanf(name_end, FIELDS, &stat->state, &stat->parent,
	           &stat->session, &cpu[0], &cpu[1], &cpu[2], &cpu[3],
	           &stat->threads, &stat->start, &blank) != FIELD_COUNT ||
	    !isalpha((unsigned char)stat->state)) {
		errno = EINVAL;
		return -1;
	}
	/* NOLINTEND(cert-err34-c) */
	stat->cpu = cpu[0] + cpu[1] + cpu[2] + cpu[3];
	return 0;
}

int
procstat_read(pid_t pid, struct procstat *stat)
{
	char text[STAT_SIZE];
	const ssize_t length = procfs_read(pid, "stat", text, sizeof(text));

	return length == -1 ? -1 : procstat_parse(text, stat);
}

bool
procstat_is_dead(const struct procstat *stat)
{
	/* Z with threads left: only the main thread has exited. */
	return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

int64_t
procstat_time(uint64_t ticks)
{
	return (int64_t)(ticks * (uint64_t)(SECOND / sysconf(_SC_CLK_TCK)));
}

int64_t
procstat_age(const struct procstat *stat)
{
	struct timespec booted = { .tv_sec = 0 };

	/* This clock counts suspended time, as the ticks do: proc(5). */
	(void)clock_gettime(CLOCK_BOOTTIME, &booted);
	return booted.tv_sec * SECOND + booted.tv_nsec -
	       procstat_time(stat->start);
}

int
procid_read(pid_t pid, struct procid *procid)
{
	struct procstat stat;

	if (procstat_read(pid, &stat) == -1)
		return -1;
	*procid = (struct procid){ pid, stat.start };
	return 0;
}

bool
procid_is_alive(const struct procid *procid)
{
	struct procstat stat;

	return procstat_read(procid->pid, &stat) == 0 &&
	       stat.start == procid->start && !procstat_is_dead(&stat);
}

int
procid_kill(const struct procid *procid, int signal)
{
	/* Comes before the look: the directory stands for one process, even
	 * after another process has got the PID. */
	const int dir = procfs_dir(procid->pid);
	int result = -1;

	if (dir == -1 && errno != ENOENT)
		return -1;
	errno = ESRCH;
	if (dir != -1 && procid_is_alive(procid))
		result = procfs_kill(dir, signal);
	fds_close(dir);
	return result;
}
