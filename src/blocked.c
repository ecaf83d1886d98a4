/* What a process is blocked in, in words. */
#include "blocked.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "peek.h"
#include "procfs.h"
#include "systemcall.h"
#include "watched.h"

/* Tests of what wdrun may not read have another name. */
#ifndef SYSCALL_FILE
#define SYSCALL_FILE "syscall"
#endif

#define CALL_SIZE     256
#define FUNCTION_SIZE 64
#define WORDS_SIZE    512
#define TRIES         3
#define PATH_SIZE     256

/* A look at a process. */
struct look {
	const struct suspended *process;
	bool has_call; /* it could be read */
	struct systemcall call;
	char text[CALL_SIZE];         /* of which it was read */
	char function[FUNCTION_SIZE]; /* of the kernel; or "" */
};

static bool
is_in(const struct look *look, const char *function)
{
	return strcmp(look->function, function) == 0;
}

/* "pipe_read", or since Linux 6.15 "anon_pipe_read". */
static bool
is_in_pipe(const struct look *look)
{
	return memmem(look->function, strlen(look->function), "pipe_", 5) !=
	       NULL;
}

static bool
add_descriptor(struct line *line, const struct look *look, int fd)
{
	return describe_descriptor(line, look->process, fd, is_in_pipe(look));
}

/* ": 'requests'", the path at ADDRESS. Another thread might have changed it
 * since the kernel read it, or it begins in a directory that is not told. */
static void
add_path(struct line *line, const struct look *look, uint64_t address)
{
	char path[PATH_SIZE];
	const ssize_t length =
	    look->process->threads > 1
	        ? -1
	        : peek(look->process->pid, address, path, sizeof(path));

	if (length > 0 && memchr(path, '\0', (size_t)length) != NULL &&
	    (path[0] == '/' || !systemcall_has_directory(&look->call)))
		line_add(line, ": '%s'", path);
}

/* Who waits there has a FIFO to open: fifo_open() in the kernel. In pipe_wait,
 * before Linux 5.8, others wait as well. */
static bool
is_fifo_open(const struct look *look)
{
	return is_in(look, "wait_for_partner") || is_in(look, "fifo_open") ||
	       (look->has_call && is_in(look, "pipe_wait") &&
	        systemcall_kind(&look->call) == SYSTEMCALL_OPEN);
}

/* A FIFO is opened for reading when somebody opens it for writing, and the
 * other way round: fifo(7). */
static void
add_open(struct line *line, const struct look *look)
{
	uint64_t path;
	const int flags = systemcall_open(&look->call, &path);

	if (!is_fifo_open(look))
		line_add(line, "opening a file");
	else if (flags == -1)
		line_add(line, "opening a FIFO whose other end nobody opens");
	else
		line_add(line, "opening a FIFO that nobody %s",
		         (flags & O_WRONLY) != 0 ? "reads" : "writes");
	add_path(line, look, path);
}

/* A number in a register is one of the process's own PID namespace, and a
 * tracer waits for others. The child that was seen may be dead by now. */
static bool
has_child(const struct suspended *process, pid_t child)
{
	struct procfs_stat stat;

	return child > 0 && procfs_read_stat(child, &stat) == 0 &&
	       stat.parent == process->pid && !procfs_is_dead(&stat);
}

/* "waiting for child 4711" */
static void
add_wait(struct line *line, const struct look *look)
{
	const int pid = systemcall_wait(&look->call);
	const pid_t child = pid > 0 ? pid : look->process->child;

	if (has_child(look->process, child))
		line_add(line, "waiting for child %d", child);
	else
		line_add(line, "waiting for a child");
}

static void
add_watched(struct line *line, const struct look *look,
            enum systemcall_kind kind)
{
	struct suspended process = *look->process;
	struct watched watched = { .is_more = true };

	/* The memory of several threads may have changed meanwhile: only that
	 * there is nothing in it for the call is certain. */
	if (kind == SYSTEMCALL_EPOLL || process.threads <= 1 ||
	    look->call.arguments[kind == SYSTEMCALL_POLL] == 0)
		watched_read(&watched, process.pid, &look->call, kind);
	/* And these are still what they were. */
	process.threads = 1;
	if (watched.count == 0 && !watched.is_more) {
		line_add(line, systemcall_has_timeout(&look->call, kind)
		                   ? "sleeping"
		                   : "waiting for a signal");
		return;
	}
	line_add(line, "waiting for ");
	for (size_t i = 0; i < watched.count; i++) {
		if (i > 0)
			line_add(line, ", ");
		(void)describe_descriptor(line, &process, watched.fds[i],
		                          false);
	}
	if (watched.count == 0)
		line_add(line, "input or output");
	else if (watched.is_more)
		line_add(line, " and others");
}

static void
add_futex(struct line *line, const struct look *look)
{
	if (look->process->threads > 1)
		line_add(line,
		         "waiting for a lock, or another of its %ld threads "
		         "(futex)",
		         look->process->threads);
	else
		line_add(line,
		         "waiting for a lock, or another process (futex)");
}

static void
add_move(struct line *line, const struct look *look)
{
	int from_fd;
	int to_fd;

	systemcall_move(&look->call, &from_fd, &to_fd);
	line_add(line, "moving data from ");
	(void)add_descriptor(line, look, from_fd);
	line_add(line, " to ");
	(void)add_descriptor(line, look, to_fd);
}

/* What is done with the descriptor that is the first argument. */
static void
add_use(struct line *line, const struct look *look, const char *what)
{
	const bool is_write = systemcall_kind(&look->call) == SYSTEMCALL_WRITE;

	line_add(line, "%s ", what);
	if (add_descriptor(line, look, (int)look->call.arguments[0]) &&
	    is_write && is_in_pipe(look) && look->process->state == 'S')
		line_add(line, ": it is full");
}

/* What is told of them without a look at their arguments. */
static const char *
words_for(enum systemcall_kind kind)
{
	switch (kind) {
	case SYSTEMCALL_READ:
		return "reading";
	case SYSTEMCALL_WRITE:
		return "writing";
	case SYSTEMCALL_SYNC:
		return "syncing";
	case SYSTEMCALL_CONNECT:
		return "connecting";
	case SYSTEMCALL_ACCEPT:
		return "waiting for a connection on";
	case SYSTEMCALL_LOCK:
		return "waiting for a lock on";
	case SYSTEMCALL_SLEEP:
		return "sleeping";
	case SYSTEMCALL_SIGNAL:
		return "waiting for a signal";
	case SYSTEMCALL_RING:
		return "waiting for input or output";
	case SYSTEMCALL_OTHER:
	case SYSTEMCALL_MOVE:
	case SYSTEMCALL_OPEN:
	case SYSTEMCALL_FUTEX:
	case SYSTEMCALL_WAIT:
	case SYSTEMCALL_POLL:
	case SYSTEMCALL_SELECT:
	case SYSTEMCALL_EPOLL:
		break;
	}
	return NULL;
}

/* Says in words which call it is. Returns whether there were any. */
static bool
add_call(struct line *line, const struct look *look)
{
	const enum systemcall_kind kind = systemcall_kind(&look->call);

	switch (kind) {
	case SYSTEMCALL_OTHER:
		return false;
	case SYSTEMCALL_READ:
	case SYSTEMCALL_WRITE:
	case SYSTEMCALL_SYNC:
	case SYSTEMCALL_CONNECT:
	case SYSTEMCALL_ACCEPT:
	case SYSTEMCALL_LOCK:
		add_use(line, look, words_for(kind));
		return true;
	case SYSTEMCALL_SLEEP:
	case SYSTEMCALL_SIGNAL:
	case SYSTEMCALL_RING:
		line_add(line, "%s", words_for(kind));
		return true;
	case SYSTEMCALL_MOVE:
		add_move(line, look);
		return true;
	case SYSTEMCALL_OPEN:
		add_open(line, look);
		return true;
	case SYSTEMCALL_FUTEX:
		add_futex(line, look);
		return true;
	case SYSTEMCALL_WAIT:
		add_wait(line, look);
		return true;
	case SYSTEMCALL_POLL:
	case SYSTEMCALL_SELECT:
	case SYSTEMCALL_EPOLL:
		add_watched(line, look, kind);
		return true;
	}
	return false;
}

static void
add_words(struct line *line, const struct look *look)
{
	const bool is_asleep = look->process->state == 'S';
	const bool has_function = look->function[0] != '\0';

	if (!is_asleep)
		line_add(line,
		         has_function ? "uninterruptible (%s), "
		                      : "uninterruptible, ",
		         look->function);
	if (look->has_call && add_call(line, look))
		return;
	if (!is_asleep)
		line->text[line->length -= 2] = '\0';
	else if (is_fifo_open(look))
		line_add(line, "opening a FIFO whose other end nobody opens");
	else if (has_function)
		line_add(line, "waiting in the kernel (%s)", look->function);
}

/* --- the look ------------------------------------------------------------- */

static bool
read_call(const struct suspended *process, char text[CALL_SIZE])
{
	return !process->in_short &&
	       procfs_read(process->pid, SYSCALL_FILE, text, CALL_SIZE) > 0;
}

static void
look_at(struct look *look)
{
	const pid_t pid = look->process->pid;

	look->has_call = read_call(look->process, look->text) &&
	                 systemcall_parse(look->text, &look->call) == 0;
	/* "0" where it waits for nothing, or is not ours to ask. */
	if (procfs_read(pid, "wchan", look->function, FUNCTION_SIZE) <= 0 ||
	    strcmp(look->function, "0") == 0)
		look->function[0] = '\0';
}

/* Whether it is still as it was looked at, so that what was read of it
 * meanwhile belongs to that. */
static bool
is_unchanged(const struct look *look)
{
	char text[CALL_SIZE];

	return !look->has_call || (read_call(look->process, text) &&
	                           strcmp(text, look->text) == 0);
}

static const char *
words_for_state(const struct suspended *process)
{
	switch (process->state) {
	case 'R':
		return "on CPU";
	case 'T':
		return "stopped";
	case 't':
		return "stopped by a debugger";
	case 'Z':
		return process->threads > 1
		           ? "its main thread has exited"
		           : "dead, its parent has not waited for it";
	default:
		return NULL;
	}
}

void
blocked_add(struct line *line, const struct suspended *process)
{
	const char *const words = words_for_state(process);

	if (words != NULL)
		line_add(line, ": %s", words);
	if (process->state != 'S' && process->state != 'D')
		return;
	for (int i = 0; i < TRIES; i++) {
		struct look look = { .process = process };
		char text[WORDS_SIZE] = "";
		struct line said = { .text = text, .size = sizeof(text) };

		look_at(&look);
		if (look.has_call && look.call.is_running)
			line_add(&said, "on CPU");
		else
			add_words(&said, &look);
		if (is_unchanged(&look)) {
			line_add(line, said.length > 0 ? ": %s" : "%s", text);
			return;
		}
	}
}
