/* What /proc/PID/stat says of a process: proc(5). */
#include "proc/procstat.h"

#include <sys/sysmacros.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "proc/procfs.h"

#define STAT_SIZE 1024
#define BASE      10

/* The fields behind the state, as proc(5) counts them. */
enum {
	FIELD_PARENT = 4,
	FIELD_GROUP = 5,
	FIELD_SESSION = 6,
	FIELD_TERMINAL = 7,
	FIELD_TERMINAL_GROUP = 8,
	FIELD_USER_TIME = 14,
	FIELD_SYSTEM_TIME = 15,
	FIELD_CHILD_USER_TIME = 16,
	FIELD_CHILD_SYSTEM_TIME = 17,
	FIELD_THREADS = 20,
	FIELD_START = 22,
};

int
procstat_parse(const char *text, struct procstat *stat)
{
	/* The name may hold blanks and parentheses. */
	const char *const name_end = strrchr(text, ')');
	long long fields[FIELD_START + 1] = { 0 };
	bool is_stat = name_end != NULL && name_end[1] == ' ' &&
	               isalpha((unsigned char)name_end[2]);
	const char *at = is_stat ? name_end + 3 : NULL;

	for (int i = FIELD_PARENT; i <= FIELD_START && is_stat; i++) {
		char *end;

		fields[i] = strtoll(at, &end, BASE);
		is_stat = *at == ' ' && *end == ' ' && end > at;
		at = end;
	}
	if (!is_stat) {
		errno = EINVAL;
		return -1;
	}
	*stat = (struct procstat){
		.state = name_end[2],
		.parent = (pid_t)fields[FIELD_PARENT],
		.group = (pid_t)fields[FIELD_GROUP],
		.session = (pid_t)fields[FIELD_SESSION],
		.terminal = (unsigned)fields[FIELD_TERMINAL],
		.terminal_group = (pid_t)fields[FIELD_TERMINAL_GROUP],
		.cpu = (uint64_t)fields[FIELD_USER_TIME] +
		       (uint64_t)fields[FIELD_SYSTEM_TIME] +
		       (uint64_t)fields[FIELD_CHILD_USER_TIME] +
		       (uint64_t)fields[FIELD_CHILD_SYSTEM_TIME],
		.threads = (long)fields[FIELD_THREADS],
		.start = (uint64_t)fields[FIELD_START],
	};
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
