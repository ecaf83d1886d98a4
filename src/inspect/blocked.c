/* What a process is blocked in, in words. */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "inspect/look.h"
#include "inspect/scene.h"
#include "proc/procfs.h"

#define STATUS_SIZE   8192
#define PATH_SIZE     256
#define COMMAND_WIDTH 72

/* Reads the start of the file NAME of THREAD as a string. */
static void
read_file(const struct thread *thread, const char *name, char *text,
          size_t size)
{
	(void)scene_read(
	    scene_open("%d/task/%d/%s", thread->pid, thread->id, name), text,
	    size);
}

/* --- the words of each wait ----------------------------------------------- */

static void
say_fd(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;

	(void)fd_say(scene, (int)thread->args[0]);
	if (thread->wait == WAIT_WRITE && thread->state == 'S' &&
	    strstr(thread->function, "pipe_") != NULL)
		say(scene, ": the pipe is full");
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
}

/* The path is left out if another thread may have changed it since, or if it
 * does not start at the working directory. */
static void
say_path(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_at = thread->number == SYS_openat;
	char path[PATH_SIZE];

	if (scene->threads > 1)
		return;

	const size_t length =
	    thread_read_memory(thread, thread->args[is_at], path, sizeof(path));

	if (memchr(path, '\0', length) != NULL &&
	    (path[0] == '/' || !is_at || (int)thread->args[0] == AT_FDCWD))
		say(scene, ": '%s'", path);
}

/* open(2) of a FIFO for reading waits until the FIFO is opened for writing, and
 * the other way round: fifo(7). */
static void
say_fifo(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const int flags =
	    (int)thread->args[thread->number == SYS_openat ? 2 : 1];

	if (thread->number == -1) {
		say(scene, "whose other end nobody opens");
		return;
	}
	say(scene, "that nobody opens for %s",
	    (flags & O_WRONLY) != 0 ? "reading" : "writing");
	say_path(scene);
}

/* Says "child 4711", or "its children 4711, 4712": all with WHICH 0, WHICH
 * alone, or one that is not known, with WHICH -1. Says WORDS instead, if it is
 * not known for whom the thread waits: then also in another PID namespace, and
 * for a tracer, which waits for others' children (ptrace(2)). */
static void
say_children(struct scene *scene, pid_t which, const char *words)
{
	const struct look *const look = scene->look;
	pid_t children[LOOK_MAX];
	int count = 0;

	for (size_t i = 0; i < look->count; i++) {
		const struct sight *const child = &look->sights[i];

		if (child->parent == scene->thread.pid &&
		    (which <= 0 || child->pid == which))
			children[count++] = child->pid;
	}
	if (count == 0 || (which <= 0 && scene->is_partial) ||
	    (which == -1 && count > 1)) {
		say(scene, "%s", words);
		return;
	}
	say(scene, count == 1 ? "child" : "its children");
	for (int i = 0; i < count; i++)
		say_pid(scene, i, children[i]);
}

static void
say_child(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const int first = (int)thread->args[0];
	int which = -1;

	if (thread->number == SYS_wait4)
		which = first == -1 ? 0 : first > 0 ? first : -1;
	else if (thread->number == SYS_waitid && first == P_ALL)
		which = 0;
	else if (thread->number == SYS_waitid && first == P_PID)
		which = (int)thread->args[1];
	say_children(scene, which, "a child");
}

/* Reads a set of signals from TEXT, a status file. */
static uint64_t
signals_of(const char *text, const char *key)
{
	const char *const found = strstr(text, key);

	return found == NULL ? 0 : strtoull(found + strlen(key), NULL, 16);
}

/* Says for whose SIGCHLD the thread waits, if that wakes it; else WORDS. During
 * the call, the blocked signals are those that the call was given
 * (set_user_sigmask() in the kernel); rt_sigtimedwait(2) waits for the signals
 * of its set alone. */
static void
say_signals(struct scene *scene, const char *words)
{
	const struct thread *const thread = &scene->thread;
	uint64_t signals = 0;

	if (thread->number == SYS_rt_sigtimedwait) {
		(void)thread_read_memory(thread, thread->args[0], &signals,
		                         sizeof(signals));
	} else {
		char text[STATUS_SIZE];

		read_file(thread, "status", text, sizeof(text));
		signals = signals_of(text, "\nSigCgt:\t") &
		          ~signals_of(text, "\nSigBlk:\t");
	}
	if ((signals >> (SIGCHLD - 1) & 1) != 0)
		say_children(scene, 0, words);
	else
		say(scene, "%s", words);
}

static void
say_signal(struct scene *scene)
{
	say_signals(scene, "a signal");
}

/* Says what the thread polls; its own plumbing is "events". */
static void
say_polled(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const size_t before = scene->line.length;

	say(scene, "waiting for ");
	thread_say_polled(scene);
	if (scene->named > 0) {
		say(scene, scene->has_more ? " and other descriptors" : "");
		return;
	}
	if (scene->has_more) {
		say(scene, "input or output");
		return;
	}
	if (scene->polled == 0 && thread->has_limit) {
		scene->line.length = before;
		say(scene, "sleeping");
		return;
	}
	/* Without any descriptor, it waits as in pause(2). */
	say_signals(scene, scene->polled == 0 ? "a signal" : "events");
	if (thread->has_limit)
		say(scene, ", or a timer");
	if (thread->limit != NEVER) {
		char time[DURATION_TEXT_SIZE];

		say(scene, " within %s", duration_format(thread->limit, time));
	}
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

	if (thread->state == 'S' && thread->function[0] != '\0')
		say(scene, "waiting in the kernel (%s)", thread->function);
}

static const struct {
	const char *words;
	void (*say)(struct scene *scene); /* then says the rest; or NULL */
} waits[WAIT_COUNT] = {
	[WAIT_DEAD] = { "", NULL },
	[WAIT_OTHER] = { "", say_other },
	[WAIT_SIGNAL] = { "waiting for ", say_signal },
	[WAIT_FUTEX] = { "waiting for a lock, ", say_futex },
	[WAIT_SLEEP] = { "sleeping", NULL },
	[WAIT_ACCEPT] = { "waiting for a connection on ", say_fd },
	[WAIT_EPOLL] = { "", say_polled },
	[WAIT_SELECT] = { "", say_polled },
	[WAIT_POLL] = { "", say_polled },
	[WAIT_CHILD] = { "waiting for ", say_child },
	[WAIT_READ] = { "reading ", say_fd },
	[WAIT_WRITE] = { "writing ", say_fd },
	[WAIT_CONNECT] = { "connecting ", say_fd },
	[WAIT_OPEN] = { "opening a file", say_path },
	[WAIT_FIFO] = { "opening a FIFO ", say_fifo },
	[WAIT_LOCK] = { "waiting for a lock on ", say_lock },
	[WAIT_STOPPED] = { "stopped", NULL },
	[WAIT_CPU] = { "on CPU", NULL },
};

/* --- the thread that is described ----------------------------------------- */

static void
read_thread(struct thread *thread)
{
	char text[STATUS_SIZE];

	read_file(thread, "stat", text, sizeof(text));

	/* The name before the state may have parentheses: proc(5). */
	const char *const name_end = strrchr(text, ')');

	if (name_end == NULL || name_end[2] == 'Z' || name_end[2] == 'X')
		return;
	thread->state = name_end[2];
	read_file(thread, "syscall", thread->call, sizeof(thread->call));
	read_file(thread, "wchan", thread->function, sizeof(thread->function));
	/* If the thread is not blocked, or may not be inspected. */
	if (strcmp(thread->function, "0") == 0)
		thread->function[0] = '\0';
	thread_parse(thread);
	if (thread->state == 'R')
		thread->wait = WAIT_CPU;
	if (thread->state == 'T' || thread->state == 't')
		thread->wait = WAIT_STOPPED;
	thread->rank = thread->state == 'D' ? WAIT_DISK : thread->wait;
}

/* Finds the thread whose wait tells most, and how many wait alike: unless they
 * are idle, for the same file. */
static void
find_thread(struct scene *scene)
{
	struct thread *const best = &scene->thread;
	const pid_t pid = scene->sight->pid;
	DIR *directory = NULL;
	int id;

	*best = (struct thread){ .pid = pid, .id = pid };
	scene->threads = 0;
	while ((id = scene_next(&directory, pid, "task")) != -1) {
		struct thread thread = { .pid = pid, .id = id, .alike = 1 };

		scene->threads++;
		read_thread(&thread);
		if (thread.rank > best->rank) {
			*best = thread;
		} else if (thread.rank == best->rank &&
		           thread.wait == best->wait &&
		           (thread.wait <= WAIT_SLEEP ||
		            thread.args[0] == best->args[0])) {
			best->alike++;
			best->has_limit |= thread.has_limit;
		}
	}
}

void
blocked_describe(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	struct sight *const sight = scene->sight;
	char call[sizeof(thread->call)];

	scene->line =
	    (struct strbuf){ .text = sight->wait, .size = sizeof(sight->wait) };
	scene->polled = scene->named = 0;
	scene->has_more = false;
	find_thread(scene);
	if (thread->state == 'D') {
		say(scene, "uninterruptible");
		if (thread->function[0] != '\0')
			say(scene, " (%s)", thread->function);
		say(scene, thread->wait == WAIT_OTHER ? "" : ", ");
	}
	say(scene, "%s", waits[thread->wait].words);
	if (waits[thread->wait].say != NULL)
		waits[thread->wait].say(scene);
	/* Unless only the main thread waits in this way. */
	if (scene->line.length > 0 &&
	    (thread->alike > 1 || thread->id != thread->pid))
		say(scene, ", in %d of its %d threads", thread->alike,
		    scene->threads);
	/* If the thread is still in the same call, then all that was read in
	 * between belongs to that call. Else it does not wait for long. */
	read_file(thread, "syscall", call, sizeof(call));
	if (thread->wait != WAIT_CPU && strcmp(call, thread->call) != 0) {
		scene->line.length = 0;
		sight->wait[0] = '\0';
	}
}
