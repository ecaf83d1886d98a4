/*
 * What sweep and soak share: time, files and locks, runs of wdrun, and what
 * /proc tells of processes.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../programs/bounded.h"

#define MILLISECOND   INT64_C(1000000)
#define SECOND        (1000 * MILLISECOND)
#define BOUND         (60 * SECOND) /* for what takes a moment */
#define TEXT_MAX      4096
#define STATUS_FAILED W_EXITCODE(125, 0)
#define KILLED        W_EXITCODE(0, SIGKILL)

/* Returns the time in nanoseconds, as all moments here. */
static inline int64_t
now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

/* --- files ---------------------------------------------------------------- */

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

static inline void
open_as(const char *file, int flags, int fd)
{
	const int opened = open(file, flags, 0666);

	if (opened == -1 || dup2(opened, fd) == -1 || close(opened) == -1)
		give_up(file);
}

/* --- runs ----------------------------------------------------------------- */

/*
 * Executes wdrun with WORDS, which blanks separate; @NAME is a test program.
 * stdin and stdout are the terminal, or where that is -1 /dev/null and the file
 * "out", in a session of its own. stderr is the file "err".
 */
static inline _Noreturn void
execute(const char *words, int terminal_fd)
{
	char text[TEXT_MAX];
	char *argv[32] = { getenv("WDRUN") };
	const int flags = O_WRONLY | O_CREAT | O_APPEND;
	char *at = text;
	int count = 1;

	for (; *words != '\0'; words++) {
		if (*words == '@')
			at += sprintf(at, "%s/", getenv("PROGRAMS"));
		else
			*at++ = *words;
	}
	*at = '\0';
	for (at = strtok(text, " "); at != NULL; at = strtok(NULL, " "))
		argv[count++] = at;
	reset_signals();
	open_as("err", flags, STDERR_FILENO);
	if (terminal_fd == -1) {
		open_as("/dev/null", O_RDONLY, STDIN_FILENO);
		open_as("out", flags, STDOUT_FILENO);
		(void)setsid();
	} else {
		(void)dup2(terminal_fd, STDIN_FILENO);
		(void)dup2(terminal_fd, STDOUT_FILENO);
	}
	(void)execv(argv[0], argv);
	give_up(argv[0]);
}

/*
 * Has --reap end what is left on record, twice where needed: nothing can be
 * proved of a process that is dying at this moment, so it is kept on record and
 * reported. Returns the wait status. Reaps the dead children, too.
 */
static inline int
have_reaped(const char *words)
{
	int status = -1;

	for (int i = 0; i < 2 && status != 0; i++) {
		const pid_t child = fork();

		if (child == 0) {
			(void)alarm(BOUND / SECOND); /* execve(2) keeps it */
			execute(words, -1);
		}
		while (waitpid(-1, &status, 0) != child)
			continue;
	}
	return status;
}

/* --- processes ------------------------------------------------------------ */

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
is_ending(pid_t pid)
{
	const struct process_stat stat = stat_of(pid);

	return stat.state == 'X' || stat.state == 'Z' ||
	       (stat.flags & 0x4) != 0 ||
	       (stat.pending & 1UL << (SIGKILL - 1)) != 0;
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
		if (!is_ending(child))
			pids[count++] = child;
	}
	if (file != NULL)
		(void)fclose(file);
	return count;
}
