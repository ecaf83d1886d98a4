/*
 * Looks at processes through /proc, for test programs. A process that does not
 * exist counts as dead, as does a zombie.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define CHILDREN_MAX 32

/* Reads /proc/PID/stat into TEXT. Returns what follows the name: " S 1 ..."; or
 * NULL where there is no such process. */
static inline const char *
stat_of(pid_t pid, char text[512])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? -1 : read(fd, text, 511);

	if (fd != -1)
		(void)close(fd);
	if (length <= 0)
		return NULL;
	text[length] = '\0';

	const char *const end = strrchr(text, ')');

	return end == NULL ? NULL : end + 1;
}

/* Returns the state's letter of proc(5), X where there is no such process. */
static inline char
state_of(pid_t pid)
{
	char text[512];
	const char *const stat = stat_of(pid, text);

	return stat == NULL ? 'X' : stat[1];
}

static inline bool
is_dead(pid_t pid)
{
	const char state = state_of(pid);

	return state == 'Z' || state == 'X';
}

/* Sets NAME, to "" where there is no such process. */
static inline void
name_of(pid_t pid, char name[32])
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? 0 : read(fd, name, 31);

	if (fd != -1)
		(void)close(fd);
	name[length > 0 ? length - 1 : 0] = '\0';
}

/* Fills PIDS with the living children of PID. Returns their number. */
static inline int
children_of(pid_t pid, pid_t pids[CHILDREN_MAX])
{
	char path[64];
	int count = 0;
	int child;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	               (int)pid, (int)pid);

	FILE *file = fopen(path, "re");

	if (file == NULL)
		return 0;
	while (count < CHILDREN_MAX && fscanf(file, "%d", &child) == 1) {
		if (!is_dead(child))
			pids[count++] = child;
	}
	(void)fclose(file);
	return count;
}

/*
 * Finds the supervisor among the children of FRONT by its name. A child that
 * has no name of its own yet sets *HAS_NAMELESS: look again later. Returns the
 * PID of the supervisor, or 0 where it is not there (yet).
 */
static inline pid_t
supervisor_of(pid_t front, bool *has_nameless)
{
	pid_t pids[CHILDREN_MAX];
	const int count = children_of(front, pids);

	*has_nameless = false;
	for (int i = 0; i < count; i++) {
		char name[32];

		name_of(pids[i], name);
		if (strcmp(name, "wd-supervisor") == 0 ||
		    strcmp(name, "wd-stopping") == 0)
			return pids[i];
		if (strncmp(name, "wd-", 3) != 0)
			*has_nameless = true;
	}
	return 0;
}
