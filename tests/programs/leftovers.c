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

/* The beginning of a file of /proc/PID, between two zero bytes. */
static char buffer[1 << 20];

/* Reads the file NAME of the process. Returns how many bytes, 0 where it may
 * not be read. */
static size_t
read_file(pid_t pid, const char *name)
{
	char path[64];
	size_t length = 0;
	ssize_t got = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	do {
		length += (size_t)got;
		got = read(fd, buffer + 1 + length, sizeof buffer - 2 - length);
	} while (got > 0);
	(void)close(fd);
	buffer[1 + length] = '\0';
	return length;
}

/* A directory that was removed reads "DIRECTORY (deleted)". */
static bool
is_inside(pid_t pid, const char *directory)
{
	const size_t length = strlen(directory);
	char link[64];
	char path[PATH_MAX] = "";

	(void)snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
	return readlink(link, path, sizeof path - 1) != -1 &&
	       strncmp(path, directory, length) == 0 &&
	       strchr("/ ", path[length]) != NULL;
}

/* Whether the process has a pending SIGKILL: "SigPnd" and "ShdPnd" in
 * proc_pid_status(5). */
static bool
has_pending_kill(pid_t pid)
{
	const size_t length = read_file(pid, "status");

	for (const char *at = buffer + 1; (at = strstr(at, "Pnd:")) != NULL;
	     at++)
		if ((strtoull(at + 4, NULL, 16) & 1U << (SIGKILL - 1)) != 0)
			return true;
	return length == 0;
}

/* Returns the parent of the process, 0 where it is dead or, with LEAVES_DYING,
 * in exit(2): PF_EXITING of include/linux/sched.h. */
static pid_t
parent_of_living(pid_t pid, bool leaves_dying)
{
	char state;
	pid_t parent;
	unsigned flags;
	const char *const after =
	    read_file(pid, "stat") == 0 ? NULL : strrchr(buffer + 1, ')');

	if (after == NULL ||
	    sscanf(after, ") %c %d %*d %*d %*d %*d %u", &state, &parent,
	           &flags) != 3 ||
	    strchr("ZX", state) != NULL || (leaves_dying && (flags & 4) != 0))
		return 0;
	return parent;
}

static bool
is_ancestor(pid_t pid)
{
	pid_t own = getpid();

	while (own > 0 && own != pid)
		own = parent_of_living(own, false);
	return own == pid;
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

	if (argc != 2 + leaves_dying || processes == NULL)
		give_up("leftovers");

	const int length = 1 + snprintf(marker, sizeof marker,
	                                "%cWDRUN_TEST=%s", 0, directory);

	while ((entry = readdir(processes)) != NULL) {
		const pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || (memmem(buffer, read_file(pid, "environ") + 2,
		                        marker, (size_t)length) == NULL &&
		                 !is_inside(pid, directory)))
			continue;
		/* A process takes its pending SIGKILL before it is in exit(2):
		 * the other way round, one that is between the two would be
		 * found. PID 1 has no parent, but is no process of a test. */
		if ((leaves_dying && has_pending_kill(pid)) ||
		    parent_of_living(pid, leaves_dying) == 0 ||
		    is_ancestor(pid))
			continue;
		printf("%d\n", (int)pid);
		found = 1;
	}
	return found;
}
