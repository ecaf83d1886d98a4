/* /proc, opened once: its lists, and what it says of a process. */
#include "proc/procfs.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/text.h"

#define PATH_SIZE   64
#define TEXT_SIZE   4096 /* of "status", but for a user of hundreds of groups */
#define CHUNK_SIZE  16384
#define THREADS_MAX 32768
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

/* Adds the names in the directory NAME in DIR that are numbers. */
static int
add_names(int dir, const char *name, struct procfs_list *list)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *const names = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (names == NULL) {
		fds_close(fd);
		return -1;
	}
	while ((entry = readdir(names)) != NULL) {
		const long number = strtol(entry->d_name, NULL, DECIMAL);

		if (number > 0) /* other names begin with letters */
			add(list, (pid_t)number);
	}
	(void)closedir(names);
	return 0;
}

int
procfs_list_all(struct procfs_list *list)
{
	return add_names(root_fd, ".", list);
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
	static pid_t tids[THREADS_MAX]; /* pages not used cost nothing */
	struct procfs_list threads = { .pids = tids, .size = THREADS_MAX };
	struct stat task;
	int result = 0;

	/* A directory's link count is that of its subdirectories plus 2. */
	if (fstatat(dir, "task", &task, 0) == -1 ||
	    task.st_nlink <= LINKS_OF_ONE_THREAD)
		return add_children_of_thread(dir, pid, list);
	if (add_names(dir, "task", &threads) == -1)
		return -1;
	for (size_t i = 0; i < threads.count; i++) {
		/* A thread that is gone has left its children to another. */
		if (add_children_of_thread(dir, tids[i], list) == -1 &&
		    errno != ENOENT && errno != ESRCH)
			result = -1;
	}
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

/* --- "status" ------------------------------------------------------------- */

/* What is behind NAME in TEXT. NAME begins with the end of the line before: the
 * first line has the name that the process chose, in which a line's end is
 * written as "\n". */
static const char *
value_of(const char *text, const char *name)
{
	const char *const line = strstr(text, name);

	return line == NULL ? "" : line + strlen(name);
}

static uint64_t
number_of(const char *text, const char *name)
{
	return strtoull(value_of(text, name), NULL, DECIMAL);
}

int
procfs_status_of(int dir, struct procfs_status *status)
{
	char text[TEXT_SIZE];

	if (read_start(openat(dir, "status", O_RDONLY | O_CLOEXEC), text,
	               sizeof(text)) == -1)
		return -1;
	*status = (struct procfs_status){
		.state = *value_of(text, "\nState:\t"),
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
procfs_read_status(pid_t pid, struct procfs_status *status)
{
	const int dir = procfs_dir(pid);
	const int result = procfs_status_of(dir, status);

	fds_close(dir);
	return result;
}

/* --- "stat" --------------------------------------------------------------- */

/* The fields 3 to 22, and the blank that shows that the last one is whole. */
#define FIELDS                                                                 \
	") %c %d %*s %d %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64      \
	" %" SCNu64 " %" SCNu64 " %*s %*s %ld %*s %" SCNu64 "%c"
#define FIELD_COUNT 10 /* without those that are skipped */

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
	long threads;
	char blank;

	/* The numbers are the kernel's, and fit. NOLINTBEGIN(cert-err34-c) */
	if (name_end == NULL ||
	    sscanf(name_end, FIELDS, &stat->state, &stat->parent,
	           &stat->session, &cpu[0], &cpu[1], &cpu[2], &cpu[3], &threads,
	           &stat->start, &blank) != FIELD_COUNT ||
	    !isalpha((unsigned char)stat->state)) {
		errno = EINVAL;
		return -1;
	}
	/* NOLINTEND(cert-err34-c) */
	stat->is_dead =
	    stat->state == 'X' || (stat->state == 'Z' && threads <= 1);
	stat->cpu = time_of(cpu[0] + cpu[1] + cpu[2] + cpu[3]);
	return 0;
}

int
procstat_read(pid_t pid, struct procstat *stat)
{
	char text[TEXT_SIZE];
	const ssize_t length = procfs_read(pid, "stat", text, sizeof(text));

	return length == -1 ? -1 : procstat_parse(text, stat);
}

int64_t
procstat_age(const struct procstat *stat)
{
	struct timespec booted = { .tv_sec = 0 };

	/* This clock counts suspended time, as the ticks do: proc(5). */
	(void)clock_gettime(CLOCK_BOOTTIME, &booted);
	return booted.tv_sec * SECOND + booted.tv_nsec - time_of(stat->start);
}

int
procid_read(pid_t pid, struct procid *procid)
{
	struct procstat stat;

	if (procstat_read(pid, &stat) == -1)
		return -1;
	*procid = (struct procid){ pid, stat.start };
	return 0;
}

bool
procid_is_alive(const struct procid *procid)
{
	struct procstat stat;

	return procstat_read(procid->pid, &stat) == 0 &&
	       stat.start == procid->start && !stat.is_dead;
}

void
procid_kill(const struct procid *procid, int signal)
{
	/* Comes before the look: the directory stands for one process, even
	 * after another process has got the PID. */
	const int dir = procfs_dir(procid->pid);

	if (dir != -1 && procid_is_alive(procid))
		(void)procfs_kill(dir, signal);
	fds_close(dir);
}

/* --- the command line ----------------------------------------------------- */

/* Appends PID's name, from a file that never blocks. */
static void
add_name(struct strbuf *line, pid_t pid)
{
	char name[PATH_SIZE];

	if (procfs_read(pid, "comm", name, sizeof(name)) <= 0) {
		strbuf_addf(line, "?");
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	strbuf_addf(line, "[%s]", name);
}

/* Whether a shell takes WORD as it stands, without quotes. */
static bool
is_plain(const char *word)
{
	const char *at = word;

	while (isalnum((unsigned char)*at) || (*at & 0x80) != 0 ||
	       (*at != '\0' && strchr("%+,-./:=@_^", *at) != NULL))
		at++;
	return *at == '\0' && at != word;
}

/* Appends WORD as '...', or as $'...' if WORD has a quote or a control
 * character. */
static void
add_quoted(struct strbuf *line, const char *word)
{
	bool has_escapes = false;

	for (const char *at = word; *at != '\0'; at++)
		has_escapes |= iscntrl((unsigned char)*at) || *at == '\'';
	strbuf_addf(line, has_escapes ? "$'" : "'");
	for (const char *at = word; *at != '\0'; at++) {
		if (*at == '\n')
			strbuf_addf(line, "\\n");
		else if (*at == '\t')
			strbuf_addf(line, "\\t");
		else if (iscntrl((unsigned char)*at))
			strbuf_addf(line, "\\x%02x", (unsigned)*at);
		else if (has_escapes && (*at == '\'' || *at == '\\'))
			strbuf_addf(line, "\\%c", *at);
		else
			strbuf_addf(line, "%c", *at);
	}
	strbuf_addf(line, "'");
}

/* Appends the words from TEXT to END, without the program's directory. */
static void
add_words(struct strbuf *line, const char *text, const char *end)
{
	const char *word = text;

	if (text[0] == '/' && is_plain(text))
		word = strrchr(text, '/') + 1;
	/* A program that sets a title writes a single word, "sshd: root@pts/0",
	 * which needs no quotes. A word that fills the buffer is no title. */
	const bool is_title =
	    text + strlen(text) + 1 >= end && end - text < TEXT_SIZE - 1;

	do {
		if (word > text && word[-1] == '\0')
			strbuf_addf(line, " ");
		if (is_title || is_plain(word))
			strbuf_addf(line, "%s", word);
		else
			add_quoted(line, word);
	} while ((word += strlen(word) + 1) < end);
}

void
cmdline_add(struct strbuf *line, pid_t pid, int width)
{
	char text[TEXT_SIZE];
	char words[TEXT_SIZE];
	struct strbuf all = { .text = words, .size = sizeof(words) };
	ssize_t length = 0;

	if (width > 0)
		length = procfs_read(pid, "cmdline", text, sizeof(text));
	/* A text that fills the buffer may go on. */
	all.is_cut = length == sizeof(text) - 1;
	while (length > 0 && text[length - 1] == '\0')
		length--;
	if (length <= 0) {
		add_name(line, pid);
		return;
	}
	add_words(&all, text, text + length);
	if (all.length <= (size_t)width && !all.is_cut) {
		strbuf_addf(line, "%s", words);
		return;
	}

	/* The start and the end: the program, and the last argument. */
	const size_t left = (size_t)width - strlen("...");
	const size_t tail = all.is_cut ? 0 : left / 2;
	const char *end = words + all.length - tail;

	while ((*end & 0xc0) == 0x80) /* not from within a character */
		end++;
	strbuf_addf(line, "%.*s...%s", (int)utf8_fit(words, left - tail), words,
	            end);
}

/* --- the ID of a run ------------------------------------------------------ */

static const char id_variable[] = RUNID_VARIABLE "=";

/* Returns the IDs in PATH but the first, or NULL. */
static const char *
behind_slash(const char *path)
{
	const char *const slash = strchr(path, '/');

	return slash == NULL ? NULL : slash + 1;
}

void
runid_make(char variable[RUNID_PATH_SIZE], pid_t front)
{
	const char *outer = getenv(RUNID_VARIABLE);

	/* Not for ever longer where a job hands its work to its successor. */
	while (outer != NULL &&
	       strlen(outer) + sizeof(id_variable) + RUNID_SIZE >
	           RUNID_PATH_SIZE)
		outer = behind_slash(outer);
	if (outer == NULL)
		outer = "";
	(void)snprintf(variable, RUNID_PATH_SIZE, "%s%s%s%d-%llx", id_variable,
	               outer, *outer == '\0' ? "" : "/", front,
	               (unsigned long long)duration_since_epoch());
}

const char *
runid_of(const char *variable)
{
	const char *const slash = strrchr(variable, '/');

	return slash == NULL ? variable + strlen(id_variable) : slash + 1;
}

size_t
runid_length(const char *text)
{
	const size_t pid = strspn(text, "0123456789");
	const size_t start = pid == 0 || text[pid] != '-'
	                         ? 0
	                         : strspn(text + pid + 1, "0123456789abcdef");
	const size_t length = pid + 1 + start;

	return start == 0 || length >= RUNID_SIZE ? 0 : length;
}

/* Whether ID is one of the IDs in PATH. */
static bool
is_in(const char *path, const char *id)
{
	const size_t length = strlen(id);

	for (; path != NULL; path = behind_slash(path)) {
		if (strncmp(path, id, length) == 0 &&
		    (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

bool
runid_has(pid_t pid, const char *id)
{
	char path[PATH_SIZE];
	char *variable = NULL;
	size_t size = 0;
	bool is_found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);

	FILE *const environment = fopen(path, "re");

	if (environment == NULL)
		return false;
	/* The first of several counts, as for getenv(3). */
	while (!is_found && getdelim(&variable, &size, '\0', environment) > 0)
		is_found =
		    strncmp(variable, id_variable, strlen(id_variable)) == 0;
	is_found = is_found && is_in(variable + strlen(id_variable), id);
	free(variable);
	(void)fclose(environment);
	return is_found;
}
