/* What a process is blocked in, in words. */
#include "inspect/blocked.h"

#include <fcntl.h>
#include <string.h>

#include "base/strbuf.h"
#include "inspect/fdinfo.h"
#include "inspect/pollset.h"
#include "inspect/syscall.h"
#include "proc/procfs.h"

#define CALL_SIZE     256
#define FUNCTION_SIZE 64
#define WORDS_SIZE    512
#define TRIES         3
#define PATH_SIZE     256

/* What was read of a process that is blocked. */
struct look {
	const struct blocked_process *process;
	struct systemcall call; /* of kind OTHER where it could not be read */
	char text[CALL_SIZE];   /* that CALL was read from, or "" */
	char function[FUNCTION_SIZE]; /* of the kernel, from wchan, or "" */
};

static bool
waits_in(const struct look *look, const char *function)
{
	return strcmp(look->function, function) == 0;
}

/* In "pipe_read", which is "anon_pipe_read" since Linux 6.15, and the like. */
static bool
is_in_pipe(const struct look *look)
{
	return memmem(look->function, strlen(look->function), "pipe_", 5) !=
	       NULL;
}

static bool
has_threads(const struct look *look)
{
	return look->process->threads > 1;
}

/* --- the words ------------------------------------------------------------ */

static bool
add_one_fd(struct strbuf *line, const struct look *look, int fd)
{
	/* Of an epoll set, pollset_read() gives only unchanged descriptors. */
	return fdinfo_add(
	    line, &(struct fdinfo_wait){
	              .pid = look->process->pid,
	              .fd = fd,
	              .tree = look->process->tree,
	              .in_pipe = is_in_pipe(look),
	              .may_have_changed = has_threads(look) &&
	                                  look->call.kind != SYSTEMCALL_EPOLL,
	          });
}

static void
add_fd(struct strbuf *line, const struct look *look)
{
	const bool is_pipe = add_one_fd(line, look, look->call.fd);

	if (is_pipe && is_in_pipe(look) &&
	    look->call.kind == SYSTEMCALL_WRITE && look->process->state == 'S')
		strbuf_addf(line, ": the pipe is full");
}

static void
add_both_fds(struct strbuf *line, const struct look *look)
{
	(void)add_one_fd(line, look, look->call.fd);
	strbuf_addf(line, " to ");
	(void)add_one_fd(line, look, look->call.to_fd);
}

/* Appends ": 'requests'", the path of an open call; nothing where another
 * thread may have changed it since the kernel read it, or where it begins in a
 * directory other than the working one. */
static void
add_path(struct strbuf *line, const struct look *look)
{
	char path[PATH_SIZE];

	if (has_threads(look))
		return;

	const ssize_t length = procfs_read_memory(
	    look->process->pid, look->call.path, path, sizeof(path));

	if (length > 0 && memchr(path, '\0', (size_t)length) != NULL &&
	    (path[0] == '/' || !look->call.has_directory))
		strbuf_addf(line, ": '%s'", path);
}

/* Whether the process is in the kernel's fifo_open(), or in the function where
 * that waits: wait_for_partner(), and before Linux 5.8 pipe_wait(), in which
 * readers and writers wait as well. */
static bool
is_opening_fifo(const struct look *look)
{
	return waits_in(look, "wait_for_partner") ||
	       waits_in(look, "fifo_open") ||
	       (waits_in(look, "pipe_wait") &&
	        look->call.kind == SYSTEMCALL_OPEN);
}

/* To open a FIFO for reading is to wait until it is opened for writing, and the
 * other way round: fifo(7). */
static void
add_file_to_open(struct strbuf *line, const struct look *look)
{
	const int flags = look->call.flags;

	if (!is_opening_fifo(look))
		strbuf_addf(line, "file");
	else if (flags == SYSTEMCALL_FLAGS_UNKNOWN)
		strbuf_addf(line, "FIFO whose other end nobody opens");
	else
		strbuf_addf(line, "FIFO that nobody opens for %s",
		            (flags & O_WRONLY) != 0 ? "reading" : "writing");
	add_path(line, look);
}

/* A PID that a process of another PID namespace waits for may belong to another
 * process here; and a tracer also waits for processes that are no children. */
static bool
is_child(pid_t pid, const struct blocked_process *process)
{
	struct procfs_stat stat;

	return pid > 0 && procfs_read_stat(pid, &stat) == 0 &&
	       stat.parent == process->pid && !procfs_is_dead(&stat);
}

static void
add_child(struct strbuf *line, const struct look *look)
{
	const pid_t child =
	    look->call.child > 0 ? look->call.child : look->process->child;

	if (is_child(child, look->process))
		strbuf_addf(line, "child %d", child);
	else
		strbuf_addf(line, "a child");
}

static void
add_polled_fds(struct strbuf *line, const struct look *look)
{
	struct pollset pollset;

	pollset_read(&pollset, look->process->pid, &look->call,
	             has_threads(look));
	if (pollset.count == 0 && !pollset.is_more) {
		strbuf_addf(line, look->call.has_timeout
		                      ? "sleeping"
		                      : "waiting for a signal");
		return;
	}
	strbuf_addf(line, "waiting for ");
	for (size_t i = 0; i < pollset.count; i++) {
		if (i > 0)
			strbuf_addf(line, ", ");
		(void)add_one_fd(line, look, pollset.fds[i]);
	}
	if (pollset.count == 0)
		strbuf_addf(line, "input or output");
	else if (pollset.is_more)
		strbuf_addf(line, " and other descriptors");
}

static void
add_futex(struct strbuf *line, const struct look *look)
{
	if (has_threads(look))
		strbuf_addf(line, "another of its %ld threads (futex)",
		            look->process->threads);
	else
		strbuf_addf(line, "another process (futex)");
}

/* How each kind of wait is described: by words, and by a function, if there is
 * one, that appends what differs from wait to wait. A kind without words is
 * described by the kernel's function. */
static const struct {
	const char *words;
	void (*add)(struct strbuf *line, const struct look *look);
} descriptions[SYSTEMCALL_KINDS] = {
	[SYSTEMCALL_READ] = { "reading ", add_fd },
	[SYSTEMCALL_WRITE] = { "writing ", add_fd },
	[SYSTEMCALL_MOVE] = { "moving data from ", add_both_fds },
	[SYSTEMCALL_SYNC] = { "syncing ", add_fd },
	[SYSTEMCALL_CONNECT] = { "connecting ", add_fd },
	[SYSTEMCALL_ACCEPT] = { "waiting for a connection on ", add_fd },
	[SYSTEMCALL_OPEN] = { "opening a ", add_file_to_open },
	[SYSTEMCALL_LOCK] = { "waiting for a lock on ", add_fd },
	[SYSTEMCALL_FUTEX] = { "waiting for a lock, or ", add_futex },
	[SYSTEMCALL_WAIT] = { "waiting for ", add_child },
	[SYSTEMCALL_SLEEP] = { "sleeping", NULL },
	[SYSTEMCALL_SIGNAL] = { "waiting for a signal", NULL },
	[SYSTEMCALL_POLL] = { "", add_polled_fds },
	[SYSTEMCALL_SELECT] = { "", add_polled_fds },
	[SYSTEMCALL_EPOLL] = { "", add_polled_fds },
	[SYSTEMCALL_RING] = { "waiting for input or output", NULL },
};

static void
add_words(struct strbuf *line, const struct look *look)
{
	const enum systemcall_kind kind = look->call.kind;
	const char *const words = descriptions[kind].words;
	const char *const function = look->function;
	const bool is_asleep = look->process->state == 'S';

	if (!is_asleep) {
		strbuf_addf(line, "uninterruptible");
		if (function[0] != '\0')
			strbuf_addf(line, " (%s)", function);
		if (words != NULL)
			strbuf_addf(line, ", ");
	}
	if (words != NULL) {
		strbuf_addf(line, "%s", words);
		if (descriptions[kind].add != NULL)
			descriptions[kind].add(line, look);
	} else if (is_asleep && is_opening_fifo(look)) {
		strbuf_addf(line,
		            "opening a FIFO whose other end nobody opens");
	} else if (is_asleep && function[0] != '\0') {
		strbuf_addf(line, "waiting in the kernel (%s)", function);
	}
}

/* --- the look ------------------------------------------------------------- */

/* Reads the system call of PROCESS into TEXT; "" where it cannot be read. */
static void
read_call(const struct blocked_process *process, char text[CALL_SIZE])
{
	if (process->in_short ||
	    procfs_read(process->pid, "syscall", text, CALL_SIZE) <= 0)
		text[0] = '\0';
}

static void
look_at(struct look *look)
{
	read_call(look->process, look->text);
	if (systemcall_parse(look->text, &look->call) == -1)
		look->call = (struct systemcall){ .kind = SYSTEMCALL_OTHER };
	/* "0" where the process waits for nothing, or is not ours to see. */
	if (procfs_read(look->process->pid, "wchan", look->function,
	                FUNCTION_SIZE) <= 0 ||
	    waits_in(look, "0"))
		look->function[0] = '\0';
}

/* Whether the process is still in the system call of LOOK. Then all that was
 * read of the process meanwhile belongs to that call. */
static bool
is_unchanged(const struct look *look)
{
	char text[CALL_SIZE];

	read_call(look->process, text);
	return strcmp(text, look->text) == 0;
}

static const char *
words_for_state(const struct blocked_process *process)
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
blocked_add(struct strbuf *line, const struct blocked_process *process)
{
	const char *const words = words_for_state(process);

	if (words != NULL)
		strbuf_addf(line, ": %s", words);
	if (process->state != 'S' && process->state != 'D')
		return;
	for (int i = 0; i < TRIES; i++) {
		struct look look = { .process = process };
		char text[WORDS_SIZE] = "";
		struct strbuf said = { .text = text, .size = sizeof(text) };

		look_at(&look);
		if (look.call.is_running)
			strbuf_addf(&said, "on CPU");
		else
			add_words(&said, &look);
		if (is_unchanged(&look)) {
			strbuf_addf(line, said.length > 0 ? ": %s" : "%s",
			            text);
			return;
		}
	}
}
