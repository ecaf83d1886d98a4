/* What a process is blocked in, in words. */
#include "inspect/blocked.h"

#include <sys/syscall.h>

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "base/duration.h"
#include "base/text.h"
#include "inspect/fdinfo.h"
#include "inspect/lockholder.h"
#include "inspect/pollset.h"
#include "inspect/syscall.h"
#include "inspect/thread.h"
#include "proc/cmdline.h"
#include "proc/procfs.h"
#include "proc/procstat.h"

#define NAME_SIZE     32
#define STATUS_SIZE   8192
#define WORDS_SIZE    1024
#define PATH_SIZE     256
#define TRIES         3
#define NAMED_MAX     4 /* descriptors that are named */
#define COMMAND_WIDTH 72
#define RANK_OF_REST  4
#define NAP           (5 * MILLISECOND)

/* A blocked thread and its process. */
struct look {
	struct blocked_process *process;
	struct thread thread;
	int alike; /* threads in the same wait, THREAD included */
};

static bool
is_in_pipe(const struct look *look)
{
	return thread_waits_in_some(&look->thread, "pipe_");
}

static bool
has_threads(const struct look *look)
{
	return look->process->threads > 1;
}

/* --- the words ------------------------------------------------------------ */

static enum fdinfo_kind
add_wait(struct strbuf *line, const struct look *look, struct fdinfo_wait *wait)
{
	wait->pid = look->process->pid;
	wait->table = look->process->table;
	wait->in_pipe = is_in_pipe(look);
	/* pollset_read() has checked the files of an epoll set. */
	wait->may_have_changed =
	    has_threads(look) && look->thread.call.kind != SYSTEMCALL_EPOLL;
	return fdinfo_add(line, wait);
}

static void
add_other(struct blocked_process *process, pid_t pid)
{
	process->others.pids[process->others.count++] = pid;
}

static void
add_fd(struct strbuf *line, const struct look *look)
{
	struct fdinfo_wait wait = { .fd = look->thread.call.fd };
	const bool is_pipe = add_wait(line, look, &wait) == FDINFO_PIPE;

	look->process->others = wait.ends;
	if (is_pipe && is_in_pipe(look) &&
	    look->thread.call.kind == SYSTEMCALL_WRITE &&
	    look->thread.state == 'S')
		strbuf_addf(line, ": the pipe is full");
}

static void
add_both_fds(struct strbuf *line, const struct look *look)
{
	struct fdinfo_wait from = { .fd = look->thread.call.fd };
	struct fdinfo_wait to = { .fd = look->thread.call.to_fd };

	(void)add_wait(line, look, &from);
	strbuf_addf(line, " to ");
	(void)add_wait(line, look, &to);
}

/* If the tree does not have the lock's holder, also appends the command line
 * and the wait of the holder. */
static void
add_lock(struct strbuf *line, const struct look *look)
{
	struct blocked_process *const process = look->process;
	struct procstat stat;

	add_fd(line, look);
	process->others.count = 0;
	/* Each thread may wait for a lock, and /proc/locks names only the
	 * process. */
	if (has_threads(look) || process->list == NULL)
		return;

	const pid_t holder = lockholder_find(process->pid, process->list);

	if (holder == 0 || procstat_read(holder, &stat) == -1)
		return;
	strbuf_addf(line, ", held by %d", holder);
	if (proctree_find(process->list, holder) != NULL) {
		add_other(process, holder);
		return;
	}
	strbuf_addf(line, " ");
	cmdline_add(line, holder, COMMAND_WIDTH);
	blocked_add(line, &(struct blocked_process){
	                      .pid = holder,
	                      .state = stat.state,
	                      .threads = stat.threads,
	                      .table = process->table,
	                  });
}

/* Appends ": 'requests'", the path of an open call; nothing if another thread
 * may have changed the path since the kernel read it, or if the path starts at
 * a directory other than the working directory. */
static void
add_path(struct strbuf *line, const struct look *look)
{
	char path[PATH_SIZE];

	if (has_threads(look))
		return;

	const ssize_t length = procfs_read_memory(
	    look->process->pid, look->thread.call.path, path, sizeof(path));

	if (length > 0 && memchr(path, '\0', (size_t)length) != NULL &&
	    (path[0] == '/' || !look->thread.call.has_directory))
		strbuf_addf(line, ": '%s'", path);
}

/* Whether the thread is in the kernel's fifo_open(), or in the function in
 * which fifo_open() waits: wait_for_partner(), and before Linux 5.8
 * pipe_wait(), in which readers and writers wait as well. */
static bool
is_opening_fifo(const struct look *look)
{
	return thread_waits_in(&look->thread, "wait_for_partner") ||
	       thread_waits_in(&look->thread, "fifo_open") ||
	       (thread_waits_in(&look->thread, "pipe_wait") &&
	        look->thread.call.kind == SYSTEMCALL_OPEN);
}

/* open(2) of a FIFO for reading waits until the FIFO is opened for writing, and
 * the other way round: fifo(7). */
static void
add_file_to_open(struct strbuf *line, const struct look *look)
{
	const int flags = look->thread.call.flags;

	if (!is_opening_fifo(look))
		strbuf_addf(line, "file");
	else if (flags == SYSTEMCALL_FLAGS_UNKNOWN)
		strbuf_addf(line, "FIFO whose other end nobody opens");
	else
		strbuf_addf(line, "FIFO that nobody opens for %s",
		            (flags & O_WRONLY) != 0 ? "reading" : "writing");
	add_path(line, look);
}

/* Appends "child 4711", or "its children 4711, 4712"; WORDS if it is not known
 * which child the thread waits for. */
static void
add_children(struct strbuf *line, const struct look *look, const char *words)
{
	struct blocked_process *const process = look->process;
	const struct process *child = NULL;
	size_t at = 0;
	int count = 0;

	while (process->list != NULL &&
	       (child = proctree_next_child(process->list, process->pid,
	                                    &at)) != NULL) {
		if (count++ < FDINFO_ENDS_MAX)
			add_other(process, child->pid);
	}
	if (count == 0 || (count > 1 && look->thread.call.is_selective)) {
		process->others.count = 0;
		strbuf_addf(line, "%s", words);
		return;
	}
	strbuf_addf(line, count == 1 ? "child" : "its children");
	for (int i = 0; i < process->others.count; i++)
		strbuf_addf(line, i == 0 ? " %d" : ", %d",
		            process->others.pids[i]);
	if (count > FDINFO_ENDS_MAX) {
		strbuf_addf(line, " and other processes");
		process->others.count = 0;
	}
}

/* The PID in the call may name another process here, if the caller is in
 * another PID namespace; and a tracer waits for processes that are not its
 * children: ptrace(2). */
static void
add_child(struct strbuf *line, const struct look *look)
{
	const pid_t child = look->thread.call.child;
	struct procstat stat;

	if (child <= 0) {
		add_children(line, look, "a child");
	} else if (procstat_read(child, &stat) == 0 &&
	           stat.parent == look->process->pid &&
	           !procstat_is_dead(&stat)) {
		strbuf_addf(line, "child %d", child);
		add_other(look->process, child);
	} else {
		strbuf_addf(line, "a child");
	}
}

/* Whether SIGCHLD wakes the thread. During the call, the blocked signals are
 * those that the call was given (set_user_sigmask() in the kernel);
 * rt_sigtimedwait(2) waits for the signals of its set alone. */
static bool
awaits_sigchld(const struct look *look)
{
	const struct blocked_process *const process = look->process;
	uint64_t signals = 0;

	if (look->thread.call.number == SYS_rt_sigtimedwait)
		(void)procfs_read_memory(process->pid,
		                         look->thread.call.arguments[0],
		                         &signals, sizeof(signals));
	else
		signals =
		    thread_status(&look->thread, "SigCgt:\t", HEXADECIMAL) &
		    ~thread_status(&look->thread, "SigBlk:\t", HEXADECIMAL);
	return (signals >> (SIGCHLD - 1) & 1) != 0;
}

static void
add_signal(struct strbuf *line, const struct look *look)
{
	if (awaits_sigchld(look))
		add_children(line, look, "a signal");
	else
		strbuf_addf(line, "a signal");
}

/* Appends what wakes a process that polls only FDINFO_INTERNAL descriptors. */
static void
add_own_events(struct strbuf *line, const struct look *look, int64_t timer)
{
	const int64_t timeout = look->thread.call.timeout;
	const size_t before = line->length;
	char time[DURATION_TEXT_SIZE];

	if (awaits_sigchld(look))
		add_children(line, look, "");

	const bool has_child = line->length > before;

	if (!has_child)
		strbuf_addf(line, "events");
	if (timer < timeout)
		strbuf_addf(line, "%s a timer in %s", has_child ? ", or" : ":",
		            duration_format_short(timer, time));
	else if (timeout != NEVER)
		strbuf_addf(line, "%s a timer within %s",
		            has_child ? ", or" : ":",
		            duration_format_short(timeout, time));
	else if (look->thread.call.has_timeout)
		strbuf_addf(line, "%s a timer", has_child ? ", or" : ":");
	else if (!has_child)
		strbuf_addf(line, " of its own");
}

/* Appends "fd 3 (terminal /dev/pts/0), fd 4 (…)", without FDINFO_INTERNAL
 * descriptors. */
static void
add_polled_fds(struct strbuf *line, const struct look *look)
{
	struct blocked_process *const process = look->process;
	int64_t timer = NEVER;
	struct pollset pollset;
	int named = 0;

	pollset_read(&pollset, process->pid, &look->thread.call,
	             has_threads(look));
	const bool is_empty = pollset.count == 0 && !pollset.is_more;

	strbuf_addf(line, is_empty && look->thread.call.has_timeout
	                      ? "sleeping"
	                      : "waiting for ");
	if (is_empty && !look->thread.call.has_timeout)
		add_signal(line, look); /* as pause(2) */
	if (is_empty)
		return;
	for (size_t i = 0; i < pollset.count; i++) {
		struct fdinfo_wait wait = { .fd = pollset.fds[i],
			                    .is_polled = true };
		const size_t before = line->length;

		if (named > 0)
			strbuf_addf(line, ", ");
		if (named == NAMED_MAX) {
			strbuf_addf(line, "other descriptors");
			break;
		}
		if (add_wait(line, look, &wait) == FDINFO_INTERNAL) {
			line->length = before;
			line->text[before] = '\0';
		} else {
			process->others = wait.ends;
			named++;
		}
		timer = wait.timer < timer ? wait.timer : timer;
	}
	if (pollset.is_more)
		strbuf_addf(line, named == 0 ? "input or output"
		                             : " and other descriptors");
	else if (named == 0)
		add_own_events(line, look, timer);
	if (named > 1 || pollset.is_more || timer != NEVER ||
	    look->thread.call.has_timeout)
		process->others.count = 0;
}

static void
add_futex(struct strbuf *line, const struct look *look)
{
	strbuf_addf(line,
	            look->thread.call.has_timeout ? "%s or a timeout (futex)"
	                                          : "or %s (futex)",
	            has_threads(look) ? "another thread" : "another process");
}

/*
 * How each kind of wait is described: by WORDS, then by ADD, which appends what
 * differs from wait to wait. Without WORDS, the name of the kernel's function
 * describes the wait. CODE is for programs. Of several threads, the thread with
 * the highest RANK is described: highest are waits for something outside of the
 * process, lowest (up to RANK_OF_REST) those of idle threads.
 */
static const struct {
	char rank;
	char code[7];
	const char *words;
	void (*add)(struct strbuf *line, const struct look *look);
} descriptions[SYSTEMCALL_KINDS] = {
	[SYSTEMCALL_OTHER] = { 1, "other", NULL, NULL },
	[SYSTEMCALL_READ] = { 11, "read", "reading ", add_fd },
	[SYSTEMCALL_WRITE] = { 12, "write", "writing ", add_fd },
	[SYSTEMCALL_MOVE] = { 11, "move", "moving data from ", add_both_fds },
	[SYSTEMCALL_SYNC] = { 12, "sync", "syncing ", add_fd },
	[SYSTEMCALL_CONNECT] = { 13, "connect", "connecting ", add_fd },
	[SYSTEMCALL_ACCEPT] = { 7, "accept", "waiting for a connection on ",
	                        add_fd },
	[SYSTEMCALL_OPEN] = { 13, "open", "opening a ", add_file_to_open },
	[SYSTEMCALL_LOCK] = { 13, "lock", "waiting for a lock on ", add_lock },
	[SYSTEMCALL_FUTEX] = { 3, "futex", "waiting for a lock, ", add_futex },
	[SYSTEMCALL_WAIT] = { 10, "child", "waiting for ", add_child },
	[SYSTEMCALL_SLEEP] = { RANK_OF_REST, "sleep", "sleeping", NULL },
	[SYSTEMCALL_SIGNAL] = { 2, "signal", "waiting for ", add_signal },
	[SYSTEMCALL_POLL] = { 9, "poll", "", add_polled_fds },
	[SYSTEMCALL_SELECT] = { 9, "poll", "", add_polled_fds },
	[SYSTEMCALL_EPOLL] = { 8, "poll", "", add_polled_fds },
	[SYSTEMCALL_RING] = { 8, "poll", "waiting for input or output", NULL },
};

/* Appends ", in 2 of its 19 threads" or ", in 1 of its 19 threads (worker)";
 * nothing if only the main thread waits in this way. */
static void
add_threads(struct strbuf *line, const struct look *look)
{
	const struct blocked_process *const process = look->process;
	char name[NAME_SIZE];
	char own_name[NAME_SIZE];

	if (look->alike == process->threads && has_threads(look))
		strbuf_addf(line, ", in all its %ld threads", process->threads);
	else if (look->alike > 1 || look->thread.id != process->pid)
		strbuf_addf(line, ", in %d of its %ld threads", look->alike,
		            process->threads);
	if (look->alike > 1 || look->thread.id == process->pid)
		return;
	thread_read_file(process->pid, look->thread.id, "comm", name,
	                 sizeof(name));
	thread_read_file(process->pid, process->pid, "comm", own_name,
	                 sizeof(own_name));
	if (name[0] != '\0' && strcmp(name, own_name) != 0)
		strbuf_addf(line, " (%.*s)", (int)strcspn(name, "\n"), name);
}

static void
add_words(struct strbuf *line, const struct look *look)
{
	const enum systemcall_kind kind = look->thread.call.kind;
	const char *const words = descriptions[kind].words;
	const char *const function = look->thread.function;
	const bool is_asleep = look->thread.state == 'S';

	if (look->thread.state == 'Z')
		return;
	if (look->thread.call.is_running || look->thread.state == 'R') {
		look->process->code = "cpu";
		strbuf_addf(line, "on CPU");
		return;
	}
	look->process->code = descriptions[kind].code;
	if (!is_asleep) {
		look->process->code = "disk";
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

static int
rank_of(const struct look *look)
{
	if (look->thread.state == 'Z')
		return 0;
	if (look->thread.state == 'R' || look->thread.call.is_running)
		return INT_MAX;
	return look->thread.state == 'S'
	           ? descriptions[look->thread.call.kind].rank
	           : INT_MAX - 1;
}

/* Whether two threads wait alike: in calls of one kind, and unless idle, with
 * the same first argument. */
static bool
is_alike(const struct look *look, const struct look *other)
{
	return rank_of(look) == rank_of(other) &&
	       look->thread.call.kind == other->thread.call.kind &&
	       (rank_of(look) <= RANK_OF_REST ||
	        look->thread.call.arguments[0] ==
	            other->thread.call.arguments[0]);
}

/* The thread ID of PROCESS, as if dead: nothing is read yet. */
static struct thread
thread_of(const struct blocked_process *process, pid_t id)
{
	return (struct thread){ .pid = process->pid,
		                .id = id,
		                .in_short = process->in_short,
		                .state = 'Z' };
}

static int
visit_thread(pid_t thread, void *context)
{
	struct look *const best = context;
	struct look look = { .process = best->process,
		             .thread = thread_of(best->process, thread),
		             .alike = 1 };
	char text[STATUS_SIZE];
	struct procstat stat;

	thread_read_file(look.process->pid, thread, "stat", text, sizeof(text));
	if (procstat_parse(text, &stat) == -1)
		return 0;
	look.thread.state = stat.state;
	thread_read(&look.thread);
	if (rank_of(&look) > rank_of(best))
		*best = look;
	else if (is_alike(&look, best)) {
		best->alike++;
		best->thread.call.has_timeout |= look.thread.call.has_timeout;
	}
	return 0;
}

/* Whether the thread only computes between short sleeps. */
static bool
is_spinning(const struct look *look)
{
	const struct blocked_process *const process = look->process;

	if (look->thread.call.kind != SYSTEMCALL_SLEEP || !process->is_busy)
		return false;

	const uint64_t io = procfs_read_io(process->pid);
	const uint64_t switches =
	    thread_switches(process->pid, look->thread.id);

	duration_sleep(NAP);
	return thread_switches(process->pid, look->thread.id) > switches + 1 &&
	       procfs_read_io(process->pid) == io;
}

/* Describes what PROCESS is blocked in. Returns whether everything was read
 * during a single wait. */
static bool
describe(struct strbuf *line, struct blocked_process *process)
{
	struct look look = {
		.process = process,
		.thread = thread_of(process, process->pid),
	};

	if (process->threads > 1) {
		(void)procfs_visit_threads(process->pid, visit_thread, &look);
	} else {
		look.thread.state = process->state;
		thread_read(&look.thread);
	}
	process->others.count = 0;
	if (is_spinning(&look)) {
		process->code = "spin";
		strbuf_addf(line, "spinning: it sleeps only for moments");
		return true;
	}
	add_words(line, &look);
	if (line->length > 0)
		add_threads(line, &look);
	process->thread = look.thread.id;
	/* Comes before thread_is_unchanged(): as long as this number does not
	 * grow, the wait described here has not ended. */
	if (process->others.count > 0)
		process->switches =
		    thread_switches(process->pid, look.thread.id);
	return look.thread.state == 'R' || thread_is_unchanged(&look.thread);
}

bool
blocked_is_unchanged(const struct blocked_process *process)
{
	return thread_switches(process->pid, process->thread) ==
	       process->switches;
}

void
blocked_add(struct strbuf *line, struct blocked_process *process)
{
	const char state = process->state;
	char text[WORDS_SIZE] = "";

	if (state == 'R' || state == 'T' || state == 't') {
		process->code = state == 'R' ? "cpu" : "stopped";
		strbuf_addf(line, state == 'R'   ? ": on CPU"
		                  : state == 'T' ? ": stopped"
		                                 : ": stopped by a debugger");
		return;
	}
	if (state == 'Z')
		strbuf_addf(line, ": its main thread has exited");
	for (int i = 0; i < TRIES; i++) {
		struct strbuf said = { .text = text, .size = sizeof(text) };

		text[0] = '\0';
		if (describe(&said, process)) {
			if (said.length > 0)
				strbuf_addf(
				    line, state == 'Z' ? ", %s" : ": %s", text);
			return;
		}
	}
	process->code = NULL;
	process->others.count = 0;
}
