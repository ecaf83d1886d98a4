/* /proc, opened once: its lists, and what it says of a process. */
#include "proc/procfs.h"

#include <sys/stat.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/kernel.h"
#include "base/text.h"

#define PATH_SIZE   64
#define COMM_SIZE   16 /* TASK_COMM_LEN */
#define TEXT_SIZE   4096
#define STATUS_SIZE 16384 /* with the groups of the user: over a thousand */

#define EXEC_TRIES 3 /* at intervals of a millisecond, after the first */

/* A test of the fallback builds with a name that no kernel has. */
#ifndef CHILDREN_FILE
#define CHILDREN_FILE "children"
#endif

static int root_fd = -1;

int
procfs_start(void)
{
	root_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd == -1)
		return errno == ENOENT ? 0 : -1;

	/* O_PATH and readlink(2) work under landlock(7) also where no file of
	 * /proc can be read. */
	const int file = openat(root_fd, "self/comm", O_RDONLY | O_CLOEXEC);

	if (file == -1 && errno == EACCES) {
		fds_close(root_fd);
		root_fd = -1;
	}
	fds_close(file);
	return 0;
}

int
procfs_fd(void)
{
	return root_fd;
}

pid_t
procfs_self(void)
{
	char text[PATH_SIZE] = "";

	if (readlinkat(root_fd, "self", text, sizeof(text) - 1) == -1)
		return 0;
	return (pid_t)strtol(text, NULL, 10);
}

bool
procfs_is_ours(void)
{
	return procfs_self() == getpid();
}

pid_t
procfs_last_pid(void)
{
	char text[PATH_SIZE];

	(void)procfs_read(text, sizeof(text), "loadavg");

	const char *const last = strrchr(text, ' ');

	return last == NULL ? 0 : (pid_t)strtol(last, NULL, 10);
}

/* --- lists ---------------------------------------------------------------- */

static void
add_number(struct procfs_list *list, int number)
{
	if (list->count < PROCFS_LIST_MAX)
		list->numbers[list->count++] = number;
}

void
procfs_list_names(int dir, const char *name, struct procfs_list *list)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *const names = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	list->count = 0;
	while (names != NULL && (entry = readdir(names)) != NULL) {
		if (isdigit((unsigned char)*entry->d_name))
			add_number(list, (int)strtol(entry->d_name, NULL, 10));
	}
	if (names == NULL)
		fds_close(fd);
	else
		(void)closedir(names);
}

void
procfs_list_of(pid_t pid, const char *name, struct procfs_list *list)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d/%s", pid, name);
	procfs_list_names(root_fd, path, list);
}

static void
add_children_of_machine(pid_t pid, struct procfs_list *list)
{
	static struct procfs_list machine;
	static pid_t parents[PROCFS_LIST_MAX];
	struct procstat stat;

	if (pid == procfs_self()) {
		procfs_list_names(root_fd, ".", &machine);
		for (size_t i = 0; i < machine.count; i++) {
			(void)procstat_read_status(machine.numbers[i], &stat);
			parents[i] = stat.parent;
		}
	}
	for (size_t i = 0; i < machine.count; i++) {
		if (parents[i] == pid)
			add_number(list, machine.numbers[i]);
	}
}

void
procfs_list_children(int dir, pid_t pid, struct procfs_list *list)
{
	static struct procfs_list threads;
	struct stat task;
	bool has_files = true;

	threads.count = list->count = 0;
	/* A directory's link count is that of its subdirectories plus 2. */
	if (fstatat(dir, "task", &task, 0) == -1 || task.st_nlink <= 2 + 1)
		add_number(&threads, pid);
	else
		procfs_list_names(dir, "task", &threads);
	for (size_t i = 0; i < threads.count; i++) {
		char path[PATH_SIZE];
		int child;

		(void)snprintf(path, sizeof(path), "task/%d/" CHILDREN_FILE,
		               threads.numbers[i]);

		const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
		FILE *const children = fd == -1 ? NULL : fdopen(fd, "r");

		/* ENOENT: no such file, or a dead thread, without children. */
		if (children == NULL) {
			has_files &= errno != ENOENT;
			fds_close(fd);
			continue;
		}
		/* The kernel's numbers fit. NOLINTNEXTLINE(cert-err34-c) */
		while (fscanf(children, "%d", &child) == 1)
			add_number(list, child);
		(void)fclose(children);
	}
	if (!has_files)
		add_children_of_machine(pid, list);
}

/* --- a process ------------------------------------------------------------ */

int
procfs_dir(pid_t pid)
{
	char path[PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d", pid);
	return openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The kernel takes such a directory for a pidfd: tgid_pidfd_to_pid(). Old
 * container engines refuse the call, and gVisor had none until 2026. But in the
 * /proc of another PID namespace, the PID is not one for kill(2). */
void
procfs_kill(int dir, pid_t pid, int signal)
{
	if (dir != -1 &&
	    syscall(CALL_PIDFD_SEND_SIGNAL, dir, signal, NULL, 0) == -1 &&
	    errno != ESRCH && procfs_is_ours())
		(void)kill(pid, signal);
}

ssize_t
procfs_read(char *text, size_t size, const char *format, ...)
{
	char path[PATH_SIZE];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);

	const int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = fd == -1 ? -1 : read(fd, text, size - 1);

	text[length > 0 ? length : 0] = '\0';
	fds_close(fd);
	return length;
}

const char *
procfs_value(const char *text, const char *name)
{
	const char *const line = strstr(text, name);

	return line == NULL ? "" : line + strlen(name);
}

uint64_t
procfs_number(const char *text, const char *name)
{
	return strtoull(procfs_value(text, name), NULL, 10);
}

int
procstat_read_status(pid_t pid, struct procstat *stat)
{
	char text[STATUS_SIZE];

	*stat = (struct procstat){ .state = '\0' };
	if (procfs_read(text, sizeof(text), "%d/status", pid) == -1)
		return -1;
	stat->state = *procfs_value(text, "\nState:\t");
	stat->parent = (pid_t)procfs_number(text, "\nPPid:\t");
	stat->is_traced = procfs_number(text, "\nTracerPid:\t") != 0;
	stat->user = (uid_t)procfs_number(text, "\nUid:\t");
	stat->memory = (int64_t)procfs_number(text, "\nVmRSS:\t");
	stat->caught = strtoull(procfs_value(text, "\nSigCgt:\t"), NULL, 16);
	/* With threads left, only the main thread has exited. */
	stat->is_dead =
	    stat->state == 'Z' && procfs_number(text, "\nThreads:\t") <= 1;
	stat->is_exiting =
	    stat->state != 'Z' && *procfs_value(text, "\nVmRSS:\t") == '\0';
	/* It has memory, but no page of the program yet. */
	stat->is_in_exec = *procfs_value(text, "\nVmExe:\t") != '\0' &&
	                   procfs_number(text, "\nVmExe:\t") == 0;
	return 0;
}

bool
procfs_is_stuck(pid_t pid)
{
	static struct procfs_list ids;
	struct procstat stat;

	procfs_list_of(pid, "task", &ids);
	for (size_t i = 0; i < ids.count; i++) {
		if (procstat_read_status(ids.numbers[i], &stat) == 0 &&
		    (stat.state == 'D' || stat.is_in_exec))
			return true;
	}
	return false;
}

/* Whether the last part of PATH is NAME, which has LENGTH bytes. */
static bool
ends_in(const char *path, const char *name, size_t length)
{
	const char *const slash = strrchr(path, '/');
	const char *const last = slash == NULL ? path : slash + 1;

	return strlen(last) == length && memcmp(last, name, length) == 0;
}

/* Reads the path of PID's program as a string, "" if that is not known. */
static void
read_program(pid_t pid, char program[TEXT_SIZE])
{
	char path[PATH_SIZE];
	struct procstat stat;
	ssize_t length = 0;

	(void)snprintf(path, sizeof(path), "%d/exe", pid);
	/* State D does not hang this: a daemon in vfork(2) has it. */
	if (procstat_read_status(pid, &stat) == 0 && !stat.is_in_exec)
		length = readlinkat(root_fd, path, program, TEXT_SIZE - 1);
	program[length > 0 ? length : 0] = '\0';
}

bool
procfs_bears(pid_t pid, const char *names)
{
	char comm[COMM_SIZE + 1]; /* and a newline */
	char words[TEXT_SIZE] = "";
	char program[TEXT_SIZE];

	(void)procfs_read(comm, sizeof(comm), "%d/comm", pid);
	comm[strcspn(comm, "\n")] = '\0';
	if (!procfs_is_stuck(pid))
		(void)procfs_read(words, sizeof(words), "%d/cmdline", pid);
	read_program(pid, program);
	while (*(names += strspn(names, " \t\n")) != '\0') {
		const size_t length = strcspn(names, " \t\n");
		const size_t size = length < COMM_SIZE ? length : COMM_SIZE - 1;

		if (ends_in(comm, names, size) ||
		    ends_in(words, names, length) ||
		    ends_in(program, names, length))
			return true;
		names += length;
	}
	return false;
}

bool
procfs_has_our_program(pid_t pid)
{
	char own[TEXT_SIZE] = "";
	char other[TEXT_SIZE];

	read_program(pid, other);
	return readlinkat(root_fd, "self/exe", own, sizeof(own) - 1) != -1 &&
	       strcmp(own, other) == 0;
}

bool
procfs_descends(pid_t pid, pid_t ancestor)
{
	struct procstat stat = { .parent = pid };

	while (stat.parent > 0 && stat.parent != ancestor &&
	       procstat_read_status(stat.parent, &stat) == 0)
		;
	return ancestor > 0 && stat.parent == ancestor;
}

bool
procfs_name_begins(pid_t pid, const char *name)
{
	char comm[COMM_SIZE + 1];

	(void)procfs_read(comm, sizeof(comm), "%d/comm", pid);
	return strncmp(comm, name, strlen(name)) == 0;
}

/* The fields 3 to 22, and the blank that shows that the last one is whole. */
#define FIELDS                                                                 \
	") %c %d %*s %d %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64      \
	" %" SCNu64 " %" SCNu64 " %*s %*s %*s %*s %" SCNu64 "%c"
#define FIELD_COUNT 9 /* without those that are skipped */

static int64_t
time_of(uint64_t ticks)
{
	return (int64_t)(ticks * (uint64_t)(SECOND / sysconf(_SC_CLK_TCK)));
}

int
procstat_parse(const char *text, struct procstat *stat)
{
	/* The name may hold blanks and parentheses. */
	const char *const name_end = strrchr(text, ')');
	uint64_t cpu[4]; /* user and system, then those of the children */
	char blank;

	if (name_end == NULL ||
	    /* The numbers fit. NOLINTNEXTLINE(cert-err34-c) */
	    sscanf(name_end, FIELDS, &stat->state, &stat->parent,
	           &stat->session, &cpu[0], &cpu[1], &cpu[2], &cpu[3],
	           &stat->start, &blank) != FIELD_COUNT ||
	    !isalpha((unsigned char)stat->state))
		return -1;
	stat->cpu = time_of(cpu[0] + cpu[1] + cpu[2] + cpu[3]);
	if (stat->state == 'T') /* the last field: exit_code, proc(5) */
		stat->stop_signal =
		    (int)strtol(strrchr(name_end, ' '), NULL, 10);
	return 0;
}

int
procstat_read(pid_t pid, struct procstat *stat)
{
	char text[TEXT_SIZE];
	int tries = EXEC_TRIES;

	while (procstat_read_status(pid, stat) == 0 && stat->is_in_exec &&
	       tries-- > 0)
		duration_sleep(MILLISECOND);
	if (stat->is_in_exec)
		return -1;
	(void)procfs_read(text, sizeof(text), "%d/stat", pid); /* or "" */
	return procstat_parse(text, stat);
}

int64_t
procstat_age(const struct procstat *stat)
{
	/* This clock counts suspended time, as the ticks do: proc(5). */
	return duration_of_clock(CLOCK_BOOTTIME) - time_of(stat->start);
}

int
procid_read(pid_t pid, struct procid *procid)
{
	struct procstat stat;
	const int result = procstat_read(pid, &stat);

	if (result == 0)
		*procid = (struct procid){ pid, stat.start };
	return result;
}

void
procid_kill(const struct procid *procid, int signal)
{
	/* First: it stands for one process, whoever has the PID later. */
	const int dir = procfs_dir(procid->pid);
	struct procstat stat;

	if (procstat_read(procid->pid, &stat) == 0 &&
	    stat.start == procid->start && !stat.is_dead)
		procfs_kill(dir, procid->pid, signal);
	fds_close(dir);
}

/* Whether a shell takes WORD as it stands, without quotes. */
static bool
is_plain(const char *word)
{
	return *word != '\0' &&
	       strpbrk(word, " \"'\\$`;&|<>()[]{}*?!#~") == NULL;
}

/* Adds WORD to LINE, as a shell reads it: it's as 'it'\''s'. */
static void
add_word(struct strbuf *line, const char *word)
{
	const char *const quote = is_plain(word) ? "" : "'";

	strbuf_addf(line, line->length == 0 ? "%s" : " %s", quote);
	for (size_t size; word[size = strcspn(word, "'")] != '\0';) {
		strbuf_addf(line, "%.*s'\\''", (int)size, word);
		word += size + 1;
	}
	strbuf_addf(line, "%s%s", word, quote);
}

void
cmdline_add(struct strbuf *line, pid_t pid, int width)
{
	char text[TEXT_SIZE];
	char words[TEXT_SIZE] = "";
	struct strbuf all = { .text = words, .size = sizeof(words) };
	const char *word = text;
	ssize_t length = 0;

	if (width > 0 && !procfs_is_stuck(pid))
		length = procfs_read(text, sizeof(text), "%d/cmdline", pid);
	/* A text that fills the buffer may go on. */
	all.is_cut = length == sizeof(text) - 1 &&
	             (text[length - 1] != '\0' || text[length - 2] != '\0');
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0) {
		length = procfs_read(text, sizeof(text), "%d/comm", pid);
		text[strcspn(text, "\n")] = '\0';
		strbuf_addf(line, length <= 0 ? "?" : "[%s]", text);
		return;
	}
	for (ssize_t i = 0; i < length; i++) {
		if (text[i] != '\0' && iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	}
	if (text[0] == '/' && is_plain(text))
		word = strrchr(text, '/') + 1;
	do
		add_word(&all, word);
	while ((word += strlen(word) + 1) < text + length);
	if (all.length <= (size_t)width && !all.is_cut) {
		strbuf_addf(line, "%s", words);
		return;
	}

	/* Start and end, in whole characters: program and last argument. */
	const int left = width - (int)strlen("...");
	const int tail = all.is_cut ? 0 : left / 2;
	const char *end = words + all.length - tail;
	int head = left - tail;

	while (head > 0 && (words[head] & 0xc0) == 0x80)
		head--;
	while ((*end & 0xc0) == 0x80)
		end++;
	strbuf_addf(line, "%.*s...%s", head, words, end);
}

void
runid_make(char id[RUNID_SIZE], char variable[RUNID_PATH_SIZE], pid_t front)
{
	const char *outer = getenv(RUNID_VARIABLE);

	/* Jobs that start each other would make the path longer for ever. */
	if (outer == NULL || strlen(outer) > RUNID_PATH_SIZE - 2 * RUNID_SIZE)
		outer = "";
	(void)snprintf(id, RUNID_SIZE, "%d-%llx", front,
	               (unsigned long long)duration_of_clock(CLOCK_REALTIME));
	(void)snprintf(variable, RUNID_PATH_SIZE, RUNID_VARIABLE "=%s%s%s",
	               outer, *outer == '\0' ? "" : "/", id);
}
