/* What /proc says of one process, or lists of many. */
#include "procfs.h"

#include <ctype.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "duration.h"
#include "text.h"

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

ssize_t
procfs_read(pid_t pid, const char *file, char *text, size_t size)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path), "/proc/%d/%s", pid, file);
	return read_start(path, text, size);
}

int
procfs_is_ours(void)
{
	static const char name[] = "NSpid:\t";
	char text[4096];
	const char *line = text;

	if (read_start("/proc/self/status", text, sizeof(text)) <= 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;

	/* One number for each PID namespace from that of the mount down to
	 * ours, so one alone if they are the same: proc(5). Without the line
	 * (CONFIG_PID_NS) there is one namespace only. */
	while (strncmp(line, name, sizeof(name) - 1) != 0) {
		line = strchr(line, '\n');
		if (line == NULL)
			return 1;
		line++;
	}

	char *end;
	const long pid = strtol(line + sizeof(name) - 1, &end, 10);

	return *end == '\n' && pid == getpid();
}

/* The fields behind the name in a stat file, counted from the state on. */
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
	FIELD_COUNT,
};

/* Reads " 4711" at *TEXT into *NUMBER, and moves *TEXT to the blank behind it:
 * at the end of TEXT, a number may be cut off. */
static bool
take_field(const char **text, long long *number)
{
	char *end;

	/* strtoll(3) takes more blanks, and other signs. */
	if (**text != ' ' ||
	    (!isdigit((unsigned char)(*text)[1]) && (*text)[1] != '-'))
		return false;
	*number = strtoll(*text + 1, &end, 10);
	*text = end;
	return *end == ' ';
}

int
procfs_parse_stat(const char *text, struct procfs_stat *stat)
{
	/* The name may hold blanks and parentheses: it ends at the last one. */
	const char *const name_end = strrchr(text, ')');
	long long fields[FIELD_COUNT];

	if (name_end == NULL || name_end[1] != ' ' ||
	    !isalpha((unsigned char)name_end[2])) {
		errno = EINVAL;
		return -1;
	}

	const char *at = name_end + 3;

	for (int i = FIELD_PARENT; i < FIELD_COUNT; i++) {
		if (!take_field(&at, &fields[i])) {
			errno = EINVAL;
			return -1;
		}
	}
	*stat = (struct procfs_stat){
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
	};
	return 0;
}

unsigned
procfs_number(dev_t device)
{
	const unsigned low = minor(device) & 0xff;

	return (minor(device) - low) << 12 | major(device) << 8 | low;
}

bool
procfs_is_dead(const struct procfs_stat *stat)
{
	/* Z with threads left: only the main thread has exited. */
	return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

int
procfs_read_stat(pid_t pid, struct procfs_stat *stat)
{
	char text[STAT_SIZE];

	if (procfs_read(pid, "stat", text, sizeof(text)) <= 0)
		return -1;
	return procfs_parse_stat(text, stat);
}

int64_t
procfs_age(const struct procfs_stat *stat)
{
	const uint64_t ticks = getauxval(AT_CLKTCK);
	struct timespec booted = { .tv_sec = 0 };

	/* Counts on while the machine sleeps, as the ticks do: proc(5). */
	(void)clock_gettime(CLOCK_BOOTTIME, &booted);
	return booted.tv_sec * SECOND + booted.tv_nsec -
	       (int64_t)(stat->start / ticks) * SECOND -
	       (int64_t)(stat->start % ticks * (uint64_t)SECOND / ticks);
}

uint64_t
procfs_read_io(pid_t pid)
{
	char text[STAT_SIZE];
	uint64_t sum = 0;

	if (procfs_read(pid, "io", text, sizeof(text)) <= 0)
		return 0;
	/* "rchar: 4711" and so on, a line each: none of them ever falls. */
	for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++)
		sum += strtoull(at, NULL, 10);
	return sum;
}

/*
 * Calls VISIT for each of the numbers in the open file FD. A number may be cut
 * in two by the end of a chunk; behind the last there is a blank.
 */
static int
visit_numbers(int fd, procfs_visit *visit, void *context)
{
	char chunk[CHUNK_SIZE];
	pid_t pid = 0;
	ssize_t length = 0;
	ssize_t at = 0;

	for (;;) {
		if (at == length) {
			at = 0;
			length = read(fd, chunk, sizeof(chunk));
			if (length <= 0)
				return length < 0 ? -1 : 0;
		}

		const int byte = (unsigned char)chunk[at++];

		if (isdigit(byte)) {
			pid = pid * 10 + (byte - '0');
		} else if (pid != 0) {
			if (visit(pid, context) == -1)
				return -1;
			pid = 0;
		}
	}
}

static int
visit_children_of_thread(pid_t pid, long tid, procfs_visit *visit,
                         void *context)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path),
	                  "/proc/%d/task/%ld/" CHILDREN_FILE, pid, tid);

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

/* Calls VISIT for each number that is a name in the directory PATH. */
static int
visit_names(const char *path, procfs_visit *visit, void *context)
{
	DIR *const directory = opendir(path);
	long gone = 0;
	int result = 0;

	if (directory == NULL)
		return -1;
	while (result == 0) {
		const long here = telldir(directory);

		errno = 0;

		const struct dirent *const entry = readdir(directory);

		if (entry == NULL) {
			result = errno == 0 ? 0 : -1;
			break;
		}

		const long number = number_of(entry);

		if (number != 0 && number != gone)
			result = visit((pid_t)number, context);
		if (result == PROCFS_GONE) {
			/* From its own place on: the kernel's next place is
			 * that of the next number that there was. */
			gone = number;
			seekdir(directory, here);
			result = 0;
		}
	}

	const int why = errno;

	(void)closedir(directory);
	errno = why;
	return result;
}

int
procfs_visit_all(procfs_visit *visit, void *context)
{
	return visit_names("/proc", visit, context);
}

int
procfs_visit_threads(pid_t pid, procfs_visit *visit, void *context)
{
	char path[PATH_SIZE];

	(void)text_format(path, sizeof(path), "/proc/%d/task", pid);
	return visit_names(path, visit, context);
}

struct parent {
	pid_t pid;
	procfs_visit *visit;
	void *context;
};

/* A thread that is gone has left its children to another. */
static int
visit_thread(pid_t tid, void *context)
{
	const struct parent *const parent = context;

	if (visit_children_of_thread(parent->pid, tid, parent->visit,
	                             parent->context) == 0 ||
	    errno == ENOENT || errno == ESRCH)
		return 0;
	return -1;
}

int
procfs_visit_children(pid_t pid, long threads, procfs_visit *visit,
                      void *context)
{
	struct parent parent = { pid, visit, context };

	if (threads <= 1)
		return visit_children_of_thread(pid, pid, visit, context);
	return procfs_visit_threads(pid, visit_thread, &parent);
}

/* PID's name as the kernel keeps it, which can always be read. */
static void
add_name(struct line *line, pid_t pid)
{
	char name[PATH_SIZE];

	if (procfs_read(pid, "comm", name, sizeof(name)) <= 0) {
		line_add(line, "?");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	line_add(line, "[%s]", name);
}

/* At most LENGTH bytes of TEXT, which goes on, without a part of a character of
 * UTF-8 at the end. */
static int
whole_characters(const char *text, int length)
{
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

void
procfs_add_command(struct line *line, pid_t pid, int width)
{
	char text[STAT_SIZE];
	ssize_t length = 0;

	if (width > 0)
		length = procfs_read(pid, "cmdline", text, sizeof(text));
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
		line_add(line, "%.*s...", whole_characters(text, width - 3),
		         text);
	else
		line_add(line, "%s", text);
}
