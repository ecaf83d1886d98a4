/* What /proc says of a process, and its lists of processes: proc(5). */
#include "proc/procfs.h"

#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/names.h"
#include "base/text.h"

#define PATH_SIZE   64
#define IO_SIZE     1024
#define STATUS_SIZE 8192 /* thrice what a user of few groups takes */
#define STATUS_HEAD 2048 /* more than what is before the groups */
#define STATUS_TAIL 4096 /* more than what is behind them */
#define CHUNK_SIZE  16384

#define LINKS_OF_ONE_THREAD 3

/* A test of the fallback builds with a name that no kernel has. */
#ifndef CHILDREN_FILE
#define CHILDREN_FILE "children"
#endif

int
procfs_open(pid_t pid, const char *file, int flags)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	return open(path, flags | O_CLOEXEC);
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

/* Reads the "status" file FD, and closes FD. Of a list of groups that is too
 * long for TEXT, the middle is left out. Returns as read_start(). */
static ssize_t
read_status(int fd, char text[STATUS_SIZE])
{
	size_t kept = 0;
	ssize_t length = fd == -1 ? -1 : read(fd, text, STATUS_SIZE - 1);

	while (length > 0 && kept + (size_t)length == STATUS_SIZE - 1) {
		kept = STATUS_HEAD + STATUS_TAIL;
		memmove(text + STATUS_HEAD,
		        text + STATUS_SIZE - 1 - STATUS_TAIL, STATUS_TAIL);
		length = read(fd, text + kept, STATUS_SIZE - 1 - kept);
	}
	fds_close(fd);
	if (length == -1)
		return -1;
	text[kept + (size_t)length] = '\0';
	return (ssize_t)kept + length;
}

ssize_t
procfs_read(pid_t pid, const char *file, char *text, size_t size)
{
	return read_start(procfs_open(pid, file, O_RDONLY), text, size);
}

const char *
procfs_find(const char *text, const char *name)
{
	const size_t length = strlen(name);
	const char *line = strchr(text, '\n');

	while (line != NULL && strncmp(line + 1, name, length) != 0)
		line = strchr(line + 1, '\n');
	return line == NULL ? NULL : line + 1 + length;
}

int
procfs_read_status(pid_t pid, struct procfs_status *status)
{
	char text[STATUS_SIZE];
	const ssize_t length =
	    read_status(procfs_open(pid, "status", O_RDONLY), text);

	if (length == -1)
		return -1;

	const char *const state = procfs_find(text, "State:\t");
	const char *const parent = procfs_find(text, "PPid:\t");
	const char *const tracer = procfs_find(text, "TracerPid:\t");
	const char *const user = procfs_find(text, "Uid:\t");
	const char *const ignored = procfs_find(text, "SigIgn:\t");

	if (state == NULL || parent == NULL || tracer == NULL || user == NULL) {
		errno = length == 0 ? ESRCH : EINVAL;
		return -1;
	}
	*status = (struct procfs_status){
		.state = *state,
		.parent = (pid_t)text_number(parent, DECIMAL),
		.tracer = (pid_t)text_number(tracer, DECIMAL),
		.user = (uid_t)text_number(user, DECIMAL),
		.ignored =
		    ignored == NULL ? 0 : text_number(ignored, HEXADECIMAL),
	};
	return 0;
}

int
procfs_read_times(pid_t pid, int64_t *used, int64_t *waited)
{
	char text[STATUS_SIZE];
	uint64_t numbers[2] = { 0, 0 };

	if (procfs_read(pid, "schedstat", text, sizeof(text)) <= 0)
		return -1;

	const char *const second = text_read_number(text, DECIMAL, &numbers[0]);

	if (second == NULL || *second != ' ' ||
	    text_read_number(second + 1, DECIMAL, &numbers[1]) == NULL)
		return -1;
	*used = (int64_t)numbers[0];
	*waited = (int64_t)numbers[1];
	return 0;
}

static bool
is_in_state(pid_t pid, char state)
{
	struct procfs_status status;

	return procfs_read_status(pid, &status) == 0 && status.state == state;
}

bool
procfs_may_block(pid_t pid)
{
	return is_in_state(pid, 'D');
}

bool
procfs_is_runnable(pid_t pid)
{
	return is_in_state(pid, 'R');
}

/* Whether FD, the status file of this process in a /proc, shows the PID
 * namespace of this process. Returns as procfs_is_ours(). Closes FD. */
static int
is_of_our_namespace(int fd)
{
	char text[STATUS_SIZE];

	if (read_status(fd, text) <= 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;

	/* NSpid has a number for each PID namespace, from that of the mount
	 * down to that of this process: only one number, if both are the same.
	 * Without CONFIG_PID_NS there is no such line, and one namespace. */
	const char *pids = procfs_find(text, "NSpid:\t");
	uint64_t pid;

	if (pids == NULL)
		return true;
	pids = text_read_number(pids, DECIMAL, &pid);
	return pids != NULL && *pids == '\n' && pid == (uint64_t)getpid();
}

int
procfs_is_ours(void)
{
	return is_of_our_namespace(
	    open("/proc/self/status", O_RDONLY | O_CLOEXEC));
}

int
procfs_open_root(void)
{
	const int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const int is_ours = is_of_our_namespace(
	    openat(fd, "self/status", O_RDONLY | O_CLOEXEC));

	if (is_ours == 1)
		return fd;
	if (is_ours == 0)
		errno = ENOENT;
	fds_close(fd);
	return -1;
}

uint64_t
procfs_read_io(pid_t pid)
{
	char text[IO_SIZE];
	uint64_t sum = 0;

	if (procfs_read(pid, "io", text, sizeof(text)) <= 0)
		return 0;
	/* Lines like "rchar: 4711", whose numbers never fall. */
	for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++)
		sum += text_number(at + 1, DECIMAL);
	return sum;
}

/* Calls VISIT for each number in the open file FD. The end of a chunk may cut a
 * number in two; a blank follows the last number. */
static int
visit_numbers(int fd, procfs_visit *visit, void *context)
{
	char chunk[CHUNK_SIZE];
	pid_t pid = 0;
	ssize_t length;

	while ((length = read(fd, chunk, sizeof(chunk))) > 0) {
		for (ssize_t at = 0; at < length; at++) {
			const int byte = (unsigned char)chunk[at];

			if (!isdigit(byte) && pid != 0 &&
			    visit(pid, context) == -1)
				return -1;
			pid = isdigit(byte) ? pid * 10 + (byte - '0') : 0;
		}
	}
	return (int)length;
}

struct parent {
	int proc_fd;
	pid_t pid;
	procfs_visit *visit;
	void *context;
};

static int
visit_children_of_thread(const struct parent *parent, pid_t tid)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d/task/%d/" CHILDREN_FILE,
	                    parent->pid, tid);

	const int fd = openat(parent->proc_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;

	const int result = visit_numbers(fd, parent->visit, parent->context);

	fds_close(fd);
	return result;
}

struct reading {
	procfs_visit *visit;
	void *context;
	pid_t gone; /* the last PID that VISIT has found gone */
};

/* Calls VISIT if NAME is a number. */
static int
visit_name(const char *name, void *context)
{
	struct reading *const reading = context;
	uint64_t read = 0;
	const char *const end = text_read_number(name, DECIMAL, &read);
	const pid_t number = (pid_t)read;

	if (end == NULL || *end != '\0' || number <= 0 ||
	    number == reading->gone)
		return 0;

	const int result = reading->visit(number, reading->context);

	if (result == PROCFS_GONE)
		reading->gone = number;
	return result == PROCFS_GONE ? NAMES_AGAIN : result;
}

/* Calls VISIT for each number that is a name in the directory FD, and closes
 * FD. Returns as procfs_visit_children(), also where FD is -1. */
static int
visit_names(int fd, procfs_visit *visit, void *context)
{
	struct reading reading = { visit, context, 0 };

	if (fd == -1)
		return -1;

	const int result = names_read(fd, visit_name, &reading);

	fds_close(fd);
	return result;
}

int
procfs_visit_all(procfs_visit *visit, void *context)
{
	return visit_names(open("/proc", O_RDONLY | O_CLOEXEC), visit, context);
}

int
procfs_visit_threads(pid_t pid, procfs_visit *visit, void *context)
{
	return visit_names(procfs_open(pid, "task", O_RDONLY), visit, context);
}

int
procfs_visit_descriptors(pid_t pid, procfs_visit *visit, void *context)
{
	return visit_names(procfs_open(pid, "fdinfo", O_RDONLY), visit,
	                   context);
}

ssize_t
procfs_read_descriptor(pid_t pid, int fd, char text[PROCFS_DESCRIPTOR_SIZE])
{
	char name[PATH_SIZE];

	(void)snprintf(name, sizeof(name), "fdinfo/%d", fd);
	return procfs_read(pid, name, text, PROCFS_DESCRIPTOR_SIZE);
}

/* A thread that is gone has left its children to another thread. */
static int
visit_thread(pid_t tid, void *context)
{
	if (visit_children_of_thread(context, tid) == 0 || errno == ENOENT ||
	    errno == ESRCH)
		return 0;
	return -1;
}

int
procfs_visit_children(int proc_fd, pid_t pid, procfs_visit *visit,
                      void *context)
{
	struct parent parent = { proc_fd, pid, visit, context };
	struct stat task;
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d/task", pid);
	/* A directory's link count is that of its subdirectories plus 2. */
	if (pid == getpid() || (fstatat(proc_fd, path, &task, 0) == 0 &&
	                        task.st_nlink == LINKS_OF_ONE_THREAD))
		return visit_children_of_thread(&parent, pid);
	return visit_names(
	    openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    visit_thread, &parent);
}

ssize_t
procfs_read_memory(pid_t pid, uint64_t address, void *data, size_t size)
{
	const size_t page = getauxval(AT_PAGESZ);
	const size_t to_page_end = page - (size_t)(address % page);
	const size_t first = size < to_page_end ? size : to_page_end;
	const struct iovec local = { .iov_base = data, .iov_len = size };
	/* Two pieces, as the next page may not be mapped: each piece is read
	 * whole or not at all, process_vm_readv(2). The addresses are never
	 * followed in this process. */
	const struct iovec remote[] = {
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		{ (void *)(uintptr_t)address, first },
		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		{ (void *)(uintptr_t)(address + first), size - first },
	};

	return process_vm_readv(pid, &local, 1, remote, first < size ? 2 : 1,
	                        0);
}
