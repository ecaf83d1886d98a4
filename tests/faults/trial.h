/*
 * What sweep and soak share: time, files and locks, and what /proc tells of
 * processes.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "../programs/bounded.h"

#define MILLISECOND INT64_C(1000000)
#define SECOND      (1000 * MILLISECOND)
#define TEXT_MAX    4096

/* Returns the time in nanoseconds, as all moments here. */
static inline int64_t
now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* Reads the start of FILE, "" where there is none. Returns whether it exists.
 */
static inline bool
read_start(const char *file, char text[TEXT_MAX])
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? 0 : read(fd, text, TEXT_MAX - 1);

	text[length < 0 ? 0 : length] = '\0';
	if (fd != -1)
		(void)close(fd);
	return fd != -1;
}

/* Returns whether the lock is free or does not exist, without a wait. */
static inline bool
lock_is_free(const char *file)
{
	const int fd = open(file, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (fd == -1)
		return errno == ENOENT;

	const bool is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;

	(void)close(fd);
	return is_free;
}

/* The fields of proc(5)'s "stat" that are of use here. */
struct process_stat {
	char name[32];
	char state; /* X where there is no such process */
	int parent;
	int session;
	unsigned flags;
	unsigned long pending; /* signals: bit N - 1 for signal N */
};

static inline struct process_stat
stat_of(pid_t pid)
{
	struct process_stat stat = { .state = 'X' };
	char path[64];
	char text[TEXT_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_start(path, text))
		return stat;

	const char *const end = strrchr(text, ')');

	if (end == NULL ||
	    sscanf(end + 1,
	           " %c %d %*d %d %*d %*d %u %*s %*s %*s %*s %*s %*s %*s %*s"
	           " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
	           &stat.state, &stat.parent, &stat.session, &stat.flags,
	           &stat.pending) != 5)
		return (struct process_stat){ .state = 'X' };
	(void)sscanf(text, "%*d (%31[^)]", stat.name);
	return stat;
}

/*
 * Whether the process is no more, has got SIGKILL, or is within exit(2):
 * PF_EXITING of the kernel's include/linux/sched.h.
 */
static inline bool
is_ending(const struct process_stat *stat)
{
	return stat->state == 'X' || stat->state == 'Z' ||
	       (stat->flags & 0x4) != 0 ||
	       (stat->pending & 1UL << (SIGKILL - 1)) != 0;
}

/* Fills PIDS with at most MAX children of PID that live. Returns their number.
 */
static inline int
children_of(pid_t pid, pid_t pids[], int max)
{
	char path[64];
	int count = 0;
	int child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	               (int)pid, (int)pid);

	FILE *const file = fopen(path, "re");

	while (file != NULL && count < max && fscanf(file, "%d", &child) == 1) {
		const struct process_stat stat = stat_of(child);

		if (!is_ending(&stat))
			pids[count++] = child;
	}
	if (file != NULL)
		(void)fclose(file);
	return count;
}

#define WORDS_MAX 32

/*
 * Splits WORDS, in TEXT, at blanks; @NAME is the path of a test program. The
 * command's name is $WDRUN.
 */
static inline void
split_words(const char *words, char text[TEXT_MAX], char *argv[WORDS_MAX])
{
	char *at = text;
	int count = 0;

	argv[count++] = getenv("WDRUN");
	for (const char *from = words; *from != '\0'; from++) {
		if (*from == '@')
			at += sprintf(at, "%s/", getenv("PROGRAMS"));
		else
			*at++ = *from;
	}
	*at = '\0';
	for (char *word = strtok(text, " "); word != NULL;
	     word = strtok(NULL, " "))
		argv[count++] = word;
	argv[count] = NULL;
}

static inline void
open_as(const char *file, int flags, int fd)
{
	const int opened = open(file, flags, 0666);

	if (opened == -1 || dup2(opened, fd) == -1 || close(opened) == -1)
		give_up(file);
}
