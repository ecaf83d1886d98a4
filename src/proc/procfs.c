/* /proc, opened once: processes, what it says of them, and its lists. */
#include "proc/procfs.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fds.h"

#define PATH_SIZE   64
#define STATUS_SIZE 4096 /* all, but for a user of hundreds of groups */
#define CHUNK_SIZE  16384
#define DECIMAL     10

#define LINKS_OF_ONE_THREAD 3

/* A test of the fallback builds with a name that no kernel has. */
#ifndef CHILDREN_FILE
#define CHILDREN_FILE "children"
#endif

static int root_fd = -1;

int
procfs_start(void)
{
	const int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return errno == ENOENT ? 0 : -1;

	/* 0 to 2 may be closed, and COMMAND is to find them closed. */
	root_fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	fds_close(fd);
	return root_fd == -1 ? -1 : 0;
}

int
procfs_fd(void)
{
	return root_fd;
}

/* Opens PID's FILE. Returns a descriptor, or -1. */
static int
open_file(pid_t pid, const char *file, int flags)
{
	char path[PATH_SIZE];

	if (root_fd == -1) {
		errno = ENOENT;
		return -1;
	}
	(void)snprintf(path, sizeof(path), "%d/%s", pid, file);
	return openat(root_fd, path, flags | O_CLOEXEC);
}

pid_t
procfs_self(void)
{
	char text[PATH_SIZE] = "";

	(void)readlinkat(root_fd, "self", text, sizeof(text) - 1);
	return (pid_t)strtol(text, NULL, DECIMAL);
}

bool
procfs_is_ours(void)
{
	return procfs_self() == getpid();
}

/* --- lists ---------------------------------------------------------------- */

static void
add(struct procfs_list *list, pid_t pid)
{
	if (list->count < list->size)
		list->pids[list->count++] = pid;
}

/* Opens the directory NAME in DIR. */
static DIR *
open_names(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *const names = fd == -1 ? NULL : fdopendir(fd);

	if (names == NULL)
		fds_close(fd);
	return names;
}

/* Returns the next name that is a number, or 0. */
static pid_t
next_number(DIR *names)
{
	const struct dirent *entry;

	while ((entry = readdir(names)) != NULL) {
		const long number = strtol(entry->d_name, NULL, DECIMAL);

		if (number > 0) /* other names begin with letters */
			return (pid_t)number;
	}
	return 0;
}

int
procfs_list_all(struct procfs_list *list)
{
	DIR *const names = open_names(root_fd, ".");
	pid_t pid;

	if (names == NULL)
		return -1;
	while ((pid = next_number(names)) != 0)
		add(list, pid);
	(void)closedir(names);
	return 0;
}

/* The end of a chunk may cut a number in two; a blank follows the last one. */
static int
add_children_of_thread(int dir, pid_t tid, struct procfs_list *list)
{
	char path[PATH_SIZE];
	char chunk[CHUNK_SIZE];
	pid_t pid = 0;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "task/%d/" CHILDREN_FILE, tid);

	const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	while ((length = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t at = 0; at < length; at++) {
			const int byte = (unsigned char)chunk[at];

			if (!isdigit(byte) && pid != 0)
				add(list, pid);
			pid = isdigit(byte) ? pid * 10 + (byte - '0') : 0;
		}
	}
	fds_close(fd);
	return length == -1 ? -1 : 0;
}

int
procfs_list_children(int dir, pid_t pid, struct procfs_list *list)
{
	struct stat task;
	pid_t tid;
	int result = 0;

	/* A directory's link count is that of its subdirectories plus 2. */
	if (fstatat(dir, "task", &task, 0) == -1 ||
	    task.st_nlink <= LINKS_OF_ONE_THREAD)
		return add_children_of_thread(dir, pid, list);

	DIR *const threads = open_names(dir, "task");

	if (threads == NULL)
		return -1;
	while ((tid = next_number(threads)) != 0) {
		/* A thread that is gone has left its children to another. */
		if (add_children_of_thread(dir, tid, list) == -1 &&
		    errno != ENOENT && errno != ESRCH)
			result = -1;
	}
	(void)closedir(threads);
	return result;
}

/* --- a process ------------------------------------------------------------ */

int
procfs_dir(pid_t pid)
{
	return open_file(pid, "", O_RDONLY | O_DIRECTORY);
}

/* The kernel takes a process's directory in place of a pidfd:
 * tgid_pidfd_to_pid(), and proc_pid_lookup(). */
int
procfs_kill(int dir, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, dir, signal, NULL, 0);
}

/* Reads the start of the file FD as a string, and closes FD. Returns the
 * length, or -1 with errno; if FD is -1, with that of the caller's open(2). */
static ssize_t
read_start(int fd, char *text, size_t size)
{
	const ssize_t length = fd == -1 ? -1 : read(fd, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
	fds_close(fd);
	return length;
}

ssize_t
procfs_read(pid_t pid, const char *file, char *text, size_t size)
{
	return read_start(open_file(pid, file, O_RDONLY), text, size);
}

/* The number behind NAME in TEXT, a "status" file. NAME begins with the end of
 * the line before: the first line has the name that the process chose, in which
 * a line's end is written as "\n". */
static uint64_t
number_of(const char *text, const char *name)
{
	const char *const line = strstr(text, name);

	return line == NULL ? 0 : strtoull(line + strlen(name), NULL, DECIMAL);
}

/* Reads the "status" file FD, and closes FD. */
static int
read_status(int fd, struct procfs_status *status)
{
	char text[STATUS_SIZE];
	const ssize_t length = read_start(fd, text, sizeof(text));
	const char *const state = strstr(text, "\nState:\t");

	if (length == -1)
		return -1;
	if (state == NULL) {
		errno = ESRCH;
		return -1;
	}
	*status = (struct procfs_status){
		.state = state[sizeof("\nState:\t") - 1],
		.parent = (pid_t)number_of(text, "\nPPid:\t"),
		.user = (uid_t)number_of(text, "\nUid:\t"),
	};
	/* With threads left, only the main thread has exited. */
	status->is_dead =
	    status->state == 'X' ||
	    (status->state == 'Z' && number_of(text, "\nThreads:\t") <= 1);
	return 0;
}

int
procfs_status_of(int dir, struct procfs_status *status)
{
	return read_status(openat(dir, "status", O_RDONLY | O_CLOEXEC), status);
}

int
procfs_read_status(pid_t pid, struct procfs_status *status)
{
	return read_status(open_file(pid, "status", O_RDONLY), status);
}

bool
procfs_may_block(pid_t pid)
{
	struct procfs_status status;

	return procfs_read_status(pid, &status) == 0 && status.state == 'D';
}
