/* What /proc says of one process, or lists of many. */
#include "procfs.h"

#include <sys/stat.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_SIZE  64
#define STAT_SIZE  1024
#define CHUNK_SIZE 16384

/* Tests of the fallback build with another name, which no kernel has. */
#ifndef CHILDREN_FILE
#define CHILDREN_FILE "children"
#endif

/* Reads the start of PATH as a string. Returns its length, or -1. */
static ssize_t
read_start(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const ssize_t length = read(fd, text, size - 1);
	const int why = errno;

	(void)close(fd);
	errno = why;
	text[length > 0 ? length : 0] = '\0';
	return length;
}

bool
procfs_is_ours(void)
{
	char text[4096];

	if (read_start("/proc/self/status", text, sizeof(text)) <= 0)
		return false;

	/* One number for each PID namespace from that of the mount down to
	 * ours, so one alone if they are the same: proc(5), NSpid. */
	const char *const numbers = strstr(text, "\nNSpid:\t");

	if (numbers == NULL) /* a kernel without CONFIG_PID_NS */
		return strstr(text, "\nPid:\t") != NULL;

	char *end;
	const long pid = strtol(numbers + strlen("\nNSpid:\t"), &end, 10);

	return *end == '\n' && pid == getpid();
}

int
procfs_parse_stat(const char *text, struct procfs_stat *stat)
{
	/* The name may hold blanks and parentheses: it ends at the last one. */
	const char *const name_end = strrchr(text, ')');
	uint64_t user;
	uint64_t system;
	int64_t child_user;
	int64_t child_system;

	if (name_end == NULL ||
	    sscanf(name_end + 1,
		   " %c %d %d %d %*d %d %*u %*u %*u %*u %*u"
		   " %" SCNu64 " %" SCNu64 " %" SCNd64 " %" SCNd64
		   " %*d %*d %ld %*d %" SCNu64,
		   &stat->state, &stat->parent, &stat->group, &stat->session,
		   &stat->terminal_group, &user, &system, &child_user,
		   &child_system, &stat->threads, &stat->start) != 11) {
		errno = EINVAL;
		return -1;
	}
	stat->cpu = user + system + (uint64_t)child_user +
		    (uint64_t)child_system;
	return 0;
}

int
procfs_read_stat(pid_t pid, struct procfs_stat *stat)
{
	char path[PATH_SIZE];
	char text[STAT_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_start(path, text, sizeof(text)) <= 0)
		return -1;
	return procfs_parse_stat(text, stat);
}

uint64_t
procfs_read_io(pid_t pid)
{
	char path[PATH_SIZE];
	char text[STAT_SIZE];
	uint64_t read_bytes = 0;
	uint64_t written_bytes = 0;
	uint64_t reads = 0;
	uint64_t writes = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/io", pid);
	if (read_start(path, text, sizeof(text)) <= 0)
		return 0;
	(void)sscanf(text,
		     "rchar: %" SCNu64 " wchar: %" SCNu64 " syscr: %" SCNu64
		     " syscw: %" SCNu64,
		     &read_bytes, &written_bytes, &reads, &writes);
	return read_bytes + written_bytes + reads + writes;
}

/*
 * Calls VISIT for each of the numbers in the open file FD. A number may be cut
 * in two by the end of a chunk.
 */
static int
visit_numbers(int fd, procfs_visit *visit, void *context)
{
	char chunk[CHUNK_SIZE];
	pid_t pid = 0;
	ssize_t length;

	while ((length = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t i = 0; i < length; i++) {
			if (isdigit((unsigned char)chunk[i])) {
				pid = pid * 10 + (chunk[i] - '0');
				continue;
			}
			if (pid != 0 && visit(pid, context) == -1)
				return -1;
			pid = 0;
		}
	}
	return length < 0 ? -1 : 0;
}

static int
visit_children_of_thread(pid_t pid, long tid, procfs_visit *visit,
			 void *context)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%ld/" CHILDREN_FILE,
		       pid, tid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const int result = visit_numbers(fd, visit, context);
	const int why = errno;

	(void)close(fd);
	errno = why;
	return result;
}

/* The number that is the whole name of ENTRY, or 0. */
static long
number_of(const struct dirent *entry)
{
	char *end;
	const long number = strtol(entry->d_name, &end, 10);

	return *end == '\0' && number > 0 ? number : 0;
}

int
procfs_visit_children(pid_t pid, long threads, procfs_visit *visit,
		      void *context)
{
	char path[PATH_SIZE];

	if (threads <= 1)
		return visit_children_of_thread(pid, pid, visit, context);

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);

	DIR *const tasks = opendir(path);

	if (tasks == NULL)
		return -1;

	int result = 0;
	int why = 0;

	for (const struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
		const long tid = number_of(entry);

		/* A thread that is gone has left its children to another. */
		if (tid != 0 &&
		    visit_children_of_thread(pid, tid, visit, context) == -1 &&
		    errno != ENOENT && errno != ESRCH) {
			result = -1;
			why = errno;
			break;
		}
	}
	(void)closedir(tasks);
	errno = why;
	return result;
}

int
procfs_visit_all(procfs_visit *visit, void *context)
{
	DIR *const processes = opendir("/proc");
	int result = 0;

	if (processes == NULL)
		return -1;
	for (const struct dirent *entry;
	     result == 0 && (entry = readdir(processes)) != NULL;) {
		const long pid = number_of(entry);

		if (pid != 0)
			result = visit((pid_t)pid, context);
	}

	const int why = errno;

	(void)closedir(processes);
	errno = why;
	return result;
}

/* PID's name as the kernel keeps it, which can always be read. */
static void
add_name(struct line *line, pid_t pid)
{
	char path[PATH_SIZE];
	char name[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (read_start(path, name, sizeof(name)) <= 0) {
		line_add(line, "?");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	line_add(line, "[%s]", name);
}

void
procfs_add_command(struct line *line, pid_t pid, int width)
{
	char path[PATH_SIZE];
	char text[STAT_SIZE];
	struct procfs_stat stat;
	ssize_t length = 0;

	/*
	 * The arguments are in the process's own memory, and whoever reads
	 * them waits for its mmap_lock (get_cmdline() in the kernel): for
	 * ever, if it hangs in state D with the lock held.
	 */
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	if (procfs_read_stat(pid, &stat) == 0 && stat.state != 'D')
		length = read_start(path, text, sizeof(text));
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0) {
		add_name(line, pid);
		return;
	}
	for (ssize_t i = 0; i < length; i++) {
		if (text[i] == '\0')
			text[i] = ' ';
	}
	if (length > width)
		line_add(line, "%.*s...", width - 3, text);
	else
		line_add(line, "%s", text);
}

int
procfs_add_holders(struct line *line, pid_t pid, dev_t device, ino_t inode)
{
	char path[PATH_SIZE];
	int holders = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);

	DIR *const list = opendir(path);

	if (list == NULL)
		return 0;
	for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
		struct stat file;

		/* Asks the open file itself: nothing is opened by it. */
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    fstatat(dirfd(list), entry->d_name, &file, 0) == 0 &&
		    file.st_dev == device && file.st_ino == inode)
			line_add(line, holders++ == 0 ? "%s" : ",%s",
				 entry->d_name);
	}
	(void)closedir(list);
	return holders;
}
