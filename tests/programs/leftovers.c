/*
 * leftovers [-d] DIRECTORY: prints the PID of each process that is not dead and
 * has WDRUN_TEST=DIRECTORY in its environment, or its working directory in
 * DIRECTORY, since the environment may be empty. Itself and its ancestors,
 * which are the shells of the test, do not count, nor, with -d, a process that
 * is about to die. Exits with 1 if there are any.
 *
 * The harness calls it after each test. It is a program, since grep and find
 * over /proc took a third of the time of the whole suite.
 */
#include "bounded.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

/* A file name in /proc/PID, or the beginning of an environment. */
static char buffer[1 << 20];

/*
 * Reads the file NAME of the process, and adds a zero byte. Returns the number
 * of bytes, or -1 where the process is gone or may not be read.
 */
static ssize_t
read_file(pid_t pid, const char *name)
{
	char path[64];
	size_t length = 0;
	ssize_t got;
	int fd;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	while ((got = read(fd, buffer + length, sizeof buffer - 1 - length)) >
	       0)
		length += (size_t)got;
	(void)close(fd);
	buffer[length] = '\0';
	return got == -1 ? -1 : (ssize_t)length;
}

/* The fields of proc_pid_stat(5) behind the name. */
struct stat_fields {
	char state;
	pid_t parent;
	unsigned flags;
};

static bool
look_at(pid_t pid, struct stat_fields *fields)
{
	const char *after;

	return read_file(pid, "stat") > 0 &&
	       (after = strrchr(buffer, ')')) != NULL &&
	       sscanf(after, ") %c %d %*d %*d %*d %*d %u", &fields->state,
	              &fields->parent, &fields->flags) == 3;
}

static bool
has_marker(pid_t pid, const char *marker)
{
	const ssize_t length = read_file(pid, "environ");

	for (const char *at = buffer; length > 0 && at < buffer + length;
	     at += strlen(at) + 1)
		if (strcmp(at, marker) == 0)
			return true;
	return false;
}

/* A directory that was removed reads "DIRECTORY (deleted)". */
static bool
is_inside(pid_t pid, const char *directory)
{
	const size_t length = strlen(directory);
	char link[64];
	char path[PATH_MAX];
	ssize_t got;

	(void)snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
	got = readlink(link, path, sizeof path - 1);
	if (got < (ssize_t)length)
		return false;
	path[got] = '\0';
	return strncmp(path, directory, length) == 0 &&
	       strchr("/ ", path[length]) != NULL;
}

/* Whether the process has a pending SIGKILL: "SigPnd" and "ShdPnd" in
 * proc_pid_status(5). */
static bool
has_pending_kill(pid_t pid)
{
	const char *at = buffer;

	if (read_file(pid, "status") <= 0)
		return true;
	for (; (at = strstr(at, "Pnd:")) != NULL; at++)
		if ((strtoull(at + 4, NULL, 16) & 1U << (SIGKILL - 1)) != 0)
			return true;
	return false;
}

static bool
is_ancestor(pid_t pid)
{
	struct stat_fields own = { .parent = getpid() };

	while (own.parent > 0)
		if (own.parent == pid)
			return true;
		else if (!look_at(own.parent, &own))
			return false;
	return false;
}

/*
 * In exit(2) a process has PF_EXITING of include/linux/sched.h. It takes its
 * pending SIGKILL before that, so this is looked at first: the other way round,
 * a process that is between the two would be found.
 */
static bool
is_left(pid_t pid, const char *marker, const char *directory, bool leaves_dying)
{
	struct stat_fields fields;

	return (has_marker(pid, marker) || is_inside(pid, directory)) &&
	       !(leaves_dying && has_pending_kill(pid)) &&
	       look_at(pid, &fields) && strchr("ZX", fields.state) == NULL &&
	       !(leaves_dying && (fields.flags & 0x4) != 0) &&
	       !is_ancestor(pid);
}

int
main(int argc, char *argv[])
{
	const bool leaves_dying = argc == 3 && strcmp(argv[1], "-d") == 0;
	const char *directory = argv[argc - 1];
	DIR *processes = opendir("/proc");
	char marker[PATH_MAX + 16];
	const struct dirent *entry;
	int found = 0;

	if (argc != 2 + leaves_dying)
		return 99;
	if (processes == NULL)
		give_up("/proc");
	(void)snprintf(marker, sizeof marker, "WDRUN_TEST=%s", directory);
	while ((entry = readdir(processes)) != NULL) {
		const pid_t pid = atoi(entry->d_name);

		if (pid > 0 && is_left(pid, marker, directory, leaves_dying)) {
			printf("%d\n", (int)pid);
			found = 1;
		}
	}
	return found;
}
