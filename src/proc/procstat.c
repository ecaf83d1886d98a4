/* What /proc/PID/stat says of a process: proc(5). */
#include "proc/procstat.h"

#include <sys/auxv.h>
#include <sys/sysmacros.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/text.h"
#include "proc/helper.h"
#include "proc/procfs.h"

#define STAT_SIZE 1024

/* The fields behind the name, counted from the state on. */
enum {
	FIELD_PARENT = 1,
	FIELD_GROUP,
	FIELD_SESSION,
	FIELD_TERMINAL,
	FIELD_TERMINAL_GROUP = 5,
	FIELD_USER_TIME = 11,
	FIELD_SYSTEM_TIME,
	FIELD_CHILD_USER_TIME,
	FIELD_CHILD_SYSTEM_TIME,
	FIELD_THREADS = 17,
	FIELD_START = 19,
	FIELD_EXIT_SIGNAL = 35,
	FIELD_ENV_START = 47,
	FIELD_ENV_END,
	FIELD_COUNT,
};

/* Reads " 4711" at *TEXT into *NUMBER, and moves *TEXT to the blank behind the
 * number: without a blank, the end of TEXT may have cut the number off. */
static bool
take_field(const char **text, long long *number)
{
	const bool is_negative = **text == ' ' && (*text)[1] == '-';
	uint64_t value = 0;

	*number = 0;
	if (**text != ' ')
		return false;
	*text = text_read_number(*text + 1 + is_negative, DECIMAL, &value);
	*number = (long long)(is_negative ? 0 - value : value);
	return *text != NULL && **text == ' ';
}

int
procstat_parse(const char *text, struct procstat *stat)
{
	/* The name may hold blanks and parentheses. */
	const char *const name_end = strrchr(text, ')');
	long long fields[FIELD_COUNT];
	bool is_stat = name_end != NULL && name_end[1] == ' ' &&
	               isalpha((unsigned char)name_end[2]);
	const char *at = is_stat ? name_end + 3 : NULL;

	for (int i = FIELD_PARENT; i < FIELD_COUNT && is_stat; i++)
		is_stat = take_field(&at, &fields[i]);
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
		.threads = (long)fields[FIELD_THREADS],
		.cpu = (uint64_t)fields[FIELD_USER_TIME] +
		       (uint64_t)fields[FIELD_SYSTEM_TIME] +
		       (uint64_t)fields[FIELD_CHILD_USER_TIME] +
		       (uint64_t)fields[FIELD_CHILD_SYSTEM_TIME],
		.start = (uint64_t)fields[FIELD_START],
		.exit_signal = (int)fields[FIELD_EXIT_SIGNAL],
		/* A hidden start is 0. Until execve(2) has filled the
		 * environment, the end is 0: do_task_stat(). */
		.has_empty_environment =
		    fields[FIELD_ENV_START] != 0 &&
		    fields[FIELD_ENV_START] == fields[FIELD_ENV_END],
	};
	return 0;
}

unsigned
procstat_terminal(dev_t device)
{
	const unsigned low = minor(device) & 0xff;

	return (minor(device) - low) << 12 | major(device) << 8 | low;
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
	const uint64_t rate = getauxval(AT_CLKTCK);

	return (int64_t)(ticks / rate) * SECOND +
	       (int64_t)(ticks % rate * (uint64_t)SECOND / rate);
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

struct stat_reading {
	pid_t pid;
	ssize_t length; /* of TEXT, or -1 with errno in WHY */
	int why;
	char text[STAT_SIZE];
};

static void
read_stat(void *data)
{
	struct stat_reading *const reading = data;

	reading->length = procfs_read(reading->pid, "stat", reading->text,
	                              sizeof(reading->text));
	reading->why = errno;
}

int
procstat_read(pid_t pid, struct procstat *stat)
{
	struct stat_reading reading = { .pid = pid,
		                        .length = -1,
		                        .why = ETIMEDOUT };

	if (procfs_may_block(pid))
		helper_do_in_time(read_stat, &reading, sizeof(reading));
	else
		read_stat(&reading);
	errno = reading.why;
	return reading.length <= 0 ? -1 : procstat_parse(reading.text, stat);
}
