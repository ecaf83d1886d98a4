/* What a process is blocked in, in words. */
#include <sys/syscall.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "inspect/look.h"
#include "inspect/scene.h"
#include "proc/cmdline.h"
#include "proc/tree.h"

#define STATUS_SIZE   8192
#define PATH_SIZE     256
#define TRIES         3
#define NAMED_MAX     4 /* descriptors that are named */
#define COMMAND_WIDTH 72

/* --- the words of each wait ----------------------------------------------- */

static void
say_fd(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;

	(void)fd_say(scene, thread->fd);
	if (thread->wait == WAIT_WRITE && thread->state == 'S' &&
	    strstr(thread->function, "pipe_") != NULL)
		say(scene, ": the pipe is full");
}

static void
say_both_fds(struct scene *scene)
{
	(void)fd_say(scene, scene->thread.fd);
	say(scene, " to ");
	(void)fd_say(scene, scene->thread.other);
}

static void
say_lock(struct scene *scene)
{
	say_fd(scene);

	const pid_t holder = fd_lock_holder(scene);

	if (holder == 0)
		return;
	say(scene, ", held by %d ", holder);
	cmdline_add(&scene->line, holder, COMMAND_WIDTH);
	scene_add_end(scene, holder);
}

/* The kernel's fifo_open() waits in wait_for_partner(). */
static bool
is_opening_fifo(const struct scene *scene)
{
	return strcmp(scene->thread.function, "wait_for_partner") == 0 ||
	       strcmp(scene->thread.function, "fifo_open") == 0;
}

/* open(2) of a FIFO for reading waits until the FIFO is opened for writing, and
 * the other way round: fifo(7). The path is left out if another thread may have
 * changed it since, or if it does not start at the working directory. */
static void
say_file_to_open(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool starts_here =
	    thread->number != SYS_openat && thread->number != SYS_openat2;
	char path[PATH_SIZE];

	if (!is_opening_fifo(scene))
		say(scene, "file");
	else if (thread->fd == -1)
		say(scene, "FIFO whose other end nobody opens");
	else
		say(scene, "FIFO that nobody opens for %s",
		    (thread->fd & O_WRONLY) != 0 ? "reading" : "writing");
	if (scene->threads > 1)
		return;

	const size_t length =
	    thread_read_memory(thread, thread->path, path, sizeof(path));

	if (memchr(path, '\0', length) != NULL &&
	    (path[0] == '/' || starts_here || (int)thread->args[0] == AT_FDCWD))
		say(scene, ": '%s'", path);
}

/* Says "child 4711", or "its children 4711, 4712"; or WORDS, if it is not known
 * for which child the thread waits. */
static void
say_children(struct scene *scene, const char *words)
{
	const struct process_list *const list = &scene->tree->list;
	pid_t children[LOOK_ENDS];
	int count = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (list->entries[i].parent != scene->thread.pid)
			continue;
		if (count < LOOK_ENDS)
			children[count] = list->entries[i].pid;
		count++;
	}
	if (count == 0 || scene->tree->is_partial ||
	    (count > 1 && scene->thread.wait == WAIT_CHILD &&
	     scene->thread.other == -1)) {
		say(scene, "%s", words);
		return;
	}
	say(scene, count == 1 ? "child" : "its children");
	for (int i = 0; i < count && i < LOOK_ENDS; i++) {
		say(scene, i == 0 ? " %d" : ", %d", children[i]);
		scene_add_end(scene, children[i]);
	}
	if (count > LOOK_ENDS)
		say(scene, " and other processes");
}

/* The PID in the call may name another process here, if the caller is in
 * another PID namespace; and a tracer waits for processes that are not its
 * children: ptrace(2). */
static void
say_child(struct scene *scene)
{
	const pid_t child = scene->thread.other;
	const struct process *const process =
	    child > 0 ? tree_find(&scene->tree->list, child) : NULL;

	if (child <= 0) {
		say_children(scene, "a child");
	} else if (process != NULL && process->parent == scene->thread.pid) {
		say(scene, "child %d", child);
		scene_add_end(scene, child);
	} else {
		say(scene, "a child");
	}
}

/* Reads a set of signals from TEXT, a status file. */
static uint64_t
signals_of(const char *text, const char *key)
{
	const char *const found = strstr(text, key);

	return found == NULL ? 0 : strtoull(found + strlen(key), NULL, 16);
}

/* Whether SIGCHLD wakes the thread. During the call, the blocked signals are
 * those that the call was given (set_user_sigmask() in the kernel);
 * rt_sigtimedwait(2) waits for the signals of its set alone. */
static bool
awaits_sigchld(const struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	uint64_t signals = 0;

	if (thread->number == SYS_rt_sigtimedwait) {
		(void)thread_read_memory(thread, thread->args[0], &signals,
		                         sizeof(signals));
	} else {
		char text[STATUS_SIZE];

		(void)scene_read(text, sizeof(text), "%d/task/%d/status",
		                 thread->pid, thread->id);
		signals = signals_of(text, "\nSigCgt:\t") &
		          ~signals_of(text, "\nSigBlk:\t");
	}
	return (signals >> (SIGCHLD - 1) & 1) != 0;
}

static void
say_signal(struct scene *scene)
{
	if (awaits_sigchld(scene))
		say_children(scene, "a signal");
	else
		say(scene, "a signal");
}

/* Says what wakes a process that polls nothing but its own plumbing. */
static void
say_events(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const size_t before = scene->line.length;
	char time[DURATION_TEXT_SIZE];

	if (awaits_sigchld(scene))
		say_children(scene, "");

	const bool has_child = scene->line.length > before;
	const char *const joint = has_child ? ", or" : ":";

	if (!has_child)
		say(scene, "events");
	if (scene->timer < thread->limit)
		say(scene, "%s a timer in %s", joint,
		    duration_format_short(scene->timer, time));
	else if (thread->limit != NEVER)
		say(scene, "%s a timer within %s", joint,
		    duration_format_short(thread->limit, time));
	else if (thread->has_limit)
		say(scene, "%s a timer", joint);
}

/* Says "fd 3 (terminal /dev/pts/0), fd 4 (…)", without own plumbing. */
static void
say_polled(struct scene *scene)
{
	struct fdset set;
	int named = 0;

	thread_fds(&scene->thread, &set);

	const bool is_empty = set.count == 0 && !set.has_more;

	if (is_empty && scene->thread.has_limit) {
		say(scene, "sleeping");
		return;
	}
	say(scene, "waiting for ");
	for (size_t i = 0; i < set.count; i++) {
		const size_t before = scene->line.length;
		const int ends = scene->sight->end_count;

		say(scene, named > 0 ? ", " : "");
		if (fd_say(scene, set.fds[i]) && ++named <= NAMED_MAX)
			continue;
		scene->line.length = before;
		scene->line.text[before] = '\0';
		scene->sight->end_count = ends;
		if (named > NAMED_MAX) {
			say(scene, ", other descriptors");
			return;
		}
	}
	if (is_empty) /* as pause(2) */
		say_signal(scene);
	else if (set.has_more)
		say(scene,
		    named == 0 ? "input or output" : " and other descriptors");
	else if (named == 0)
		say_events(scene);
}

static void
say_futex(struct scene *scene)
{
	say(scene,
	    scene->thread.has_limit ? "%s or a timeout (futex)"
	                            : "or %s (futex)",
	    scene->threads > 1 ? "another thread" : "another process");
}

static void
say_other(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;

	if (thread->state != 'S')
		return;
	if (is_opening_fifo(scene))
		say(scene, "opening a FIFO whose other end nobody opens");
	else if (thread->function[0] != '\0')
		say(scene, "waiting in the kernel (%s)", thread->function);
}

static void
say_who_stopped(struct scene *scene)
{
	say(scene, scene->thread.state == 't' ? " by a debugger" : "");
}

/* CODE is for programs, WORDS and SAY are for people. */
static const struct {
	char code[8];
	const char *words;
	void (*say)(struct scene *scene);
} waits[WAIT_COUNT] = {
	[WAIT_DEAD] = { "", "", NULL },
	[WAIT_OTHER] = { "other", "", say_other },
	[WAIT_SIGNAL] = { "signal", "waiting for ", say_signal },
	[WAIT_FUTEX] = { "futex", "waiting for a lock, ", say_futex },
	[WAIT_SLEEP] = { "sleep", "sleeping", NULL },
	[WAIT_ACCEPT] = { "accept", "waiting for a connection on ", say_fd },
	[WAIT_RING] = { "poll", "waiting for input or output", NULL },
	[WAIT_EPOLL] = { "poll", "", say_polled },
	[WAIT_SELECT] = { "poll", "", say_polled },
	[WAIT_POLL] = { "poll", "", say_polled },
	[WAIT_CHILD] = { "child", "waiting for ", say_child },
	[WAIT_MOVE] = { "move", "moving data from ", say_both_fds },
	[WAIT_READ] = { "read", "reading ", say_fd },
	[WAIT_SYNC] = { "sync", "syncing ", say_fd },
	[WAIT_WRITE] = { "write", "writing ", say_fd },
	[WAIT_CONNECT] = { "connect", "connecting ", say_fd },
	[WAIT_OPEN] = { "open", "opening a ", say_file_to_open },
	[WAIT_LOCK] = { "lock", "waiting for a lock on ", say_lock },
	[WAIT_STOPPED] = { "stopped", "stopped", say_who_stopped },
	[WAIT_CPU] = { "cpu", "on CPU", NULL },
};

/* --- the thread that is described ----------------------------------------- */

static void
read_call(const struct thread *thread, char text[sizeof(thread->call)])
{
	(void)scene_read(text, sizeof(thread->call), "%d/task/%d/syscall",
	                 thread->pid, thread->id);
}

static void
read_thread(struct thread *thread)
{
	char text[STATUS_SIZE];

	(void)scene_read(text, sizeof(text), "%d/task/%d/stat", thread->pid,
	                 thread->id);

	/* The name before the state may have parentheses: proc(5). */
	const char *const name_end = strrchr(text, ')');

	if (name_end == NULL || name_end[2] == 'Z' || name_end[2] == 'X')
		return;
	thread->state = name_end[2];
	read_call(thread, thread->call);
	/* "0" if the thread is not blocked, or may not be inspected. */
	if (scene_read(thread->function, sizeof(thread->function),
	               "%d/task/%d/wchan", thread->pid, thread->id) <= 0 ||
	    strcmp(thread->function, "0") == 0)
		thread->function[0] = '\0';
	thread_parse(thread);
	if (thread->state == 'R')
		thread->wait = WAIT_CPU;
	if (thread->state == 'T' || thread->state == 't')
		thread->wait = WAIT_STOPPED;
}

static enum wait
rank_of(const struct thread *thread)
{
	return thread->state == 'D' ? WAIT_DISK : thread->wait;
}

/* Whether two threads wait alike: unless they are idle, for the same file. */
static bool
are_alike(const struct thread *one, const struct thread *other)
{
	return rank_of(one) == rank_of(other) && one->wait == other->wait &&
	       (one->wait <= WAIT_SLEEP || one->args[0] == other->args[0]);
}

/* Finds the thread whose wait tells most. */
static void
find_thread(struct scene *scene, pid_t pid)
{
	struct thread *const best = &scene->thread;
	DIR *directory = NULL;
	int id;

	*best = (struct thread){ .pid = pid, .id = pid, .state = 'X' };
	scene->threads = 0;
	while ((id = scene_next(&directory, pid, "task")) != -1) {
		struct thread thread = { .pid = pid, .id = id, .alike = 1 };

		scene->threads++;
		read_thread(&thread);
		if (rank_of(&thread) > rank_of(best)) {
			*best = thread;
		} else if (are_alike(&thread, best)) {
			best->alike++;
			best->has_limit |= thread.has_limit;
		}
	}
}

/* Says ", in 2 of its 19 threads" or ", in 1 of its 19 threads (worker)";
 * nothing if only the main thread waits in this way. */
static void
say_threads(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	char name[32];
	char own_name[32];

	if (thread->alike == 1 && thread->id == thread->pid)
		return;
	say(scene, ", in %d of its %ld threads", thread->alike, scene->threads);
	(void)scene_read(name, sizeof(name), "%d/task/%d/comm", thread->pid,
	                 thread->id);
	(void)scene_read(own_name, sizeof(own_name), "%d/comm", thread->pid);
	if (thread->alike == 1 && name[0] != '\0' &&
	    strcmp(name, own_name) != 0)
		say(scene, " (%.*s)", (int)strcspn(name, "\n"), name);
}

static void
describe(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;

	if (thread->wait == WAIT_DEAD)
		return;
	scene->sight->code = waits[thread->wait].code;
	if (thread->state == 'D') {
		scene->sight->code = "disk";
		say(scene, "uninterruptible");
		if (thread->function[0] != '\0')
			say(scene, " (%s)", thread->function);
		say(scene, thread->wait == WAIT_OTHER ? "" : ", ");
	}
	say(scene, "%s", waits[thread->wait].words);
	if (waits[thread->wait].say != NULL)
		waits[thread->wait].say(scene);
	if (scene->line.length > 0)
		say_threads(scene);
}

void
blocked_describe(struct scene *scene)
{
	struct sight *const sight = scene->sight;
	char call[sizeof(scene->thread.call)];

	for (int i = 0; i <= TRIES; i++) {
		scene->line = (struct strbuf){ .text = sight->wait,
			                       .size = sizeof(sight->wait) };
		scene->timer = NEVER;
		sight->wait[0] = '\0';
		sight->code = NULL;
		sight->end_count = 0;
		if (i == TRIES)
			return; /* it never waits for long */
		find_thread(scene, sight->pid);
		describe(scene);
		/* If the thread is still in the same call, then all that was
		 * read in between belongs to that call. */
		read_call(&scene->thread, call);
		if (scene->thread.wait == WAIT_CPU ||
		    strcmp(call, scene->thread.call) == 0)
			return;
	}
}
