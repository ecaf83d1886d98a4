/* What a process is blocked in: the system call of the most telling thread. */
#include <sys/select.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/kernel.h"
#include "inspect/look.h"
#include "inspect/scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NAME_SIZE    64   /* of a file in /proc */
#define PATH_SIZE    256  /* that is shown */
#define FILE_SIZE    8192 /* of an epoll, less than 100 bytes a descriptor */
#define CALLS_MAX    4
#define NAMED_MAX    4 /* descriptors that are named */
#define POLLED_MAX   512

/* The system calls that can block for long. The first row matches no call. */
static const struct {
	enum wait wait;
	int calls[CALLS_MAX];
} kinds[] = {
	{ WAIT_OTHER, { -1 } },
	{ WAIT_READ, { SYS_read, SYS_readv, SYS_pread64 } },
	{ WAIT_READ, { SYS_recvfrom, SYS_recvmsg } },
	{ WAIT_WRITE, { SYS_write, SYS_writev, SYS_pwrite64 } },
	{ WAIT_WRITE, { SYS_sendto, SYS_sendmsg } },
	{ WAIT_CONNECT, { SYS_connect } },
	{ WAIT_ACCEPT, { SYS_accept, SYS_accept4 } },
	{ WAIT_OPEN, { SYS_open, SYS_openat } },
	{ WAIT_LOCK, { SYS_flock, SYS_fcntl, SYS_fcntl64 } },
	{ WAIT_FUTEX, { SYS_futex, CALL_FUTEX64 } },
	{ WAIT_CHILD, { SYS_wait4, SYS_waitid } },
	{ WAIT_SLEEP,
	  { SYS_nanosleep, SYS_clock_nanosleep, CALL_CLOCK_NANOSLEEP64 } },
	{ WAIT_SIGNAL,
	  { SYS_pause, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
	    CALL_SIGTIMEDWAIT64 } },
	{ WAIT_POLL, { SYS_poll, SYS_ppoll, CALL_PPOLL64 } },
	{ WAIT_SELECT,
	  { SYS_select, SYS__newselect, SYS_pselect6, CALL_PSELECT64 } },
	{ WAIT_EPOLL, { SYS_epoll_wait, SYS_epoll_pwait, CALL_EPOLL_PWAIT2 } },
};

/* The same of socketcall(2), by its first argument: linux/net.h. */
static const enum wait socket_calls[] = {
	[3] = WAIT_CONNECT, [5] = WAIT_ACCEPT, [9] = WAIT_WRITE,
	[10] = WAIT_READ,   [11] = WAIT_WRITE, [12] = WAIT_READ,
	[16] = WAIT_WRITE,  [17] = WAIT_READ,  [18] = WAIT_ACCEPT,
};

/* Parts of the names of kernel functions that a thread sleeps in. They tell its
 * wait where its call may not be read (another user's), and that a file is a
 * FIFO. The last that matches counts: "futex_do_wait" has "do_wait" in it. */
static const struct {
	char part[20];
	enum wait wait;
} functions[] = {
	{ "do_wait", WAIT_CHILD },         { "nanosleep", WAIT_SLEEP },
	{ "sigsuspend", WAIT_SIGNAL },     { "sys_pause", WAIT_SIGNAL },
	{ "wait_for_partner", WAIT_FIFO }, { "fifo_open", WAIT_FIFO },
	{ "futex", WAIT_FUTEX },
};

void
thread_parse(struct thread *thread)
{
	char *at = thread->call;

	thread->wait = WAIT_OTHER;
	thread->number = -1;
	for (size_t i = 0; i < COUNT(functions); i++) {
		if (strstr(thread->function, functions[i].part) != NULL)
			thread->wait = functions[i].wait;
	}
	if (*at < '0' || *at > '9') /* "running"; "-1 …": in no call */
		return;

	const long number = strtol(at, &at, 10);

	for (size_t i = 0; i < ARGS; i++)
		thread->args[i] = strtoull(at, &at, 16);

	/* Other numbers in a process of another width, as its stack tells. */
	if ((strtoull(at, NULL, 16) > UINT32_MAX) != (ULONG_MAX > UINT32_MAX))
		return;
	thread->number = number;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		for (size_t j = 0; j < CALLS_MAX; j++) {
			/* 0 ends the list, but may be the number of read(2). */
			if (kinds[i].calls[j] == number &&
			    (number != 0 || j == 0) &&
			    thread->wait != WAIT_FIFO)
				thread->wait = kinds[i].wait;
		}
	}
	if (number == SYS_socketcall && thread->args[0] < COUNT(socket_calls) &&
	    socket_calls[thread->args[0]] != WAIT_DEAD)
		thread->wait = socket_calls[thread->args[0]];
}

/* By /proc/PID/mem, which reads up to the first page that is not mapped. */
static size_t
read_memory(const struct scene *scene, uint64_t address, void *data,
            size_t size)
{
	char path[NAME_SIZE];

	(void)snprintf(path, sizeof(path), "%d/mem", scene->sight->pid);

	const int fd =
	    scene->sight->is_stuck ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = pread(fd, data, size, (off_t)address);

	fds_close(fd);
	return length < 0 ? 0 : (size_t)length;
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
	if (thread->wait == WAIT_LOCK)
		fd_say_holder(scene);
}

/* Not where another thread may have changed it, or it starts elsewhere. */
static void
say_path(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_at = thread->number == SYS_openat;
	char path[PATH_SIZE] = "";

	if (scene->threads > 1)
		return;

	const size_t length =
	    read_memory(scene, thread->args[is_at], path, sizeof(path));

	if (memchr(path, '\0', length) != NULL &&
	    (path[0] == '/' || !is_at || (int)thread->args[0] == AT_FDCWD))
		say(scene, ": '%s'", path);
}

/* open(2) of a FIFO for reading waits for a writer, and vice versa: fifo(7). */
static void
say_fifo(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_at = thread->number == SYS_openat;
	const int flags = (int)thread->args[is_at ? 2 : 1];

	say(scene, thread->number == -1      ? "whose other end nobody opens"
	           : (flags & O_WRONLY) != 0 ? "that nobody opens for reading"
	                                     : "that nobody opens for writing");
	say_path(scene);
}

/* Says "child 4711", or "its children 4711, 4712": those for which wait4(2)
 * waits with WHICH as its first argument: -1 means any, others below 1 a group,
 * of which only an only child is known. Says WORDS where they are not known: in
 * another PID namespace, or for a tracer (ptrace(2)). */
static void
say_children(struct scene *scene, pid_t which, const char *words)
{
	pid_t children[LOOK_MAX];
	int count = 0;

	for (size_t i = 0; i < scene->look->count; i++) {
		const struct sight *const child = &scene->look->sights[i];

		if (child->parent == scene->sight->pid &&
		    (which <= 0 || child->pid == which))
			children[count++] = child->pid;
	}
	if ((which <= 0 && scene->is_partial) || (which != -1 && count > 1))
		count = 0;
	say(scene, "%s",
	    count == 0   ? words
	    : count == 1 ? "child"
	                 : "its children");
	for (int i = 0; i < count; i++)
		say_pid(scene, i, children[i]);
}

static void
say_child(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	pid_t which = (pid_t)thread->args[0];

	if (thread->number == SYS_waitid)
		which = which == P_ALL   ? -1
		        : which == P_PID ? (pid_t)thread->args[1]
		                         : 0;
	say_children(scene, which, "a child");
}

/* Says for whose SIGCHLD the thread waits, if it has a handler. In the call it
 * blocks the signals that the call was given (set_user_sigmask()). */
static void
say_signals(struct scene *scene)
{
	const char *const words = scene->polled == 0 ? "a signal" : "events";
	char text[FILE_SIZE];

	(void)procfs_read(scene->thread.id, "status", text, sizeof(text));

	const uint64_t caught =
	    strtoull(procfs_value(text, "\nSigCgt:\t"), NULL, 16);
	const uint64_t blocked =
	    strtoull(procfs_value(text, "\nSigBlk:\t"), NULL, 16);

	/* sigwait(3) waits for the signals of its set, handler or not. */
	if (scene->thread.number != SYS_rt_sigtimedwait &&
	    scene->thread.number != CALL_SIGTIMEDWAIT64 &&
	    ((caught & ~blocked) >> (SIGCHLD - 1) & 1) != 0)
		say_children(scene, -1, words);
	else
		say(scene, "%s", words);
}

/* Says what the thread polls but for what is named; its own plumbing is
 * "events". LIMIT is a time limit: if IN_MS, a number of milliseconds
 * (negative: none), else the address of a timespec (NULL: none). */
static void
say_polled(struct scene *scene, uint64_t limit, bool in_ms)
{
	const bool has_limit = in_ms ? (int)limit >= 0 : limit != 0;

	scene->has_more |= scene->named > NAMED_MAX;
	if (scene->has_more)
		say(scene, scene->named > 0 ? " and other descriptors"
		                            : "input or output");
	if (scene->has_more || scene->named > 0)
		return;
	if (scene->polled == 0 && has_limit) {
		scene->line.length -= strlen("waiting for ");
		say(scene, "sleeping");
		return;
	}
	/* Without any descriptor, it waits as in pause(2). */
	say_signals(scene);
	if (has_limit)
		say(scene, ", or a timer");
	if (has_limit && in_ms) {
		char time[DURATION_TEXT_SIZE];

		say(scene, " within %s",
		    duration_format((int)limit * MILLISECOND, time));
	}
}

static void
say_one(struct scene *scene, int fd)
{
	struct strbuf *const line = &scene->line;
	const size_t before = line->length;

	if (fd < 0) /* poll(2) ignores it */
		return;
	scene->polled++;
	if (scene->named > NAMED_MAX)
		return;
	say(scene, scene->named > 0 ? ", " : "");
	if (fd_say(scene, fd) && ++scene->named <= NAMED_MAX)
		return;
	line->length = before;
	line->text[before] = '\0';
}

static void
say_poll(struct scene *scene)
{
	const uint64_t *const args = scene->thread.args;
	struct pollfd polled[POLLED_MAX];
	const size_t got = read_memory(scene, args[0], polled, sizeof(polled)) /
	                   sizeof(polled[0]);

	for (size_t i = 0; i < got && i < args[1]; i++)
		say_one(scene, polled[i].fd);
	scene->has_more = got < args[1];
	say_polled(scene, args[2], scene->thread.number == SYS_poll);
}

/* Three sets, each of which may be NULL. The number in the call may be above
 * that of all descriptors (core_sys_select()). */
static void
say_select(struct scene *scene)
{
	const uint64_t *const args = scene->thread.args;
	const unsigned all = (unsigned)args[0];
	fd_set sets[3] = { 0 };

	for (int i = 0; i < 3; i++)
		scene->has_more |= args[i + 1] != 0 &&
		                   read_memory(scene, args[i + 1], &sets[i],
		                               sizeof(sets[i])) == 0;
	for (unsigned fd = 0; fd < all && fd < FD_SETSIZE; fd++) {
		if (FD_ISSET(fd, &sets[0]) || FD_ISSET(fd, &sets[1]) ||
		    FD_ISSET(fd, &sets[2]))
			say_one(scene, (int)fd);
	}
	scene->has_more |= all > FD_SETSIZE && scene->polled == 0;
	say_polled(scene, args[4], false);
}

/* fdinfo of an epoll(7) has a line "tfd: 8 events: …" for each file. */
static void
say_epoll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	char path[NAME_SIZE];
	char text[FILE_SIZE];

	(void)snprintf(path, sizeof(path), "fdinfo/%d", (int)thread->args[0]);

	const ssize_t length =
	    procfs_read(scene->sight->pid, path, text, sizeof(text));

	scene->has_more = length <= 0 || length == sizeof(text) - 1;
	for (char *at = text; (at = strstr(at, "tfd:")) != NULL;)
		say_one(scene, (int)strtol(at + strlen("tfd:"), &at, 10));
	say_polled(scene, thread->args[3], thread->number != CALL_EPOLL_PWAIT2);
}

static void
say_futex(struct scene *scene)
{
	say(scene,
	    scene->thread.args[3] != 0 ? "%s or a timeout (futex)"
	                               : "or %s (futex)",
	    scene->threads > 1 ? "another thread" : "another process");
}

/* The kernel stops all of a background job that wants its terminal. */
static void
say_stop(struct scene *scene)
{
	const int signal = scene->look->stop_signal;

	if (scene->sight->pid == scene->look->target && signal == SIGTTIN)
		say(scene, ": wants to read the terminal, in the background");
	if (scene->sight->pid == scene->look->target && signal == SIGTTOU)
		say(scene, ": wants to use the terminal, in the background");
}

static const struct {
	const char *words;                /* or NULL */
	void (*say)(struct scene *scene); /* then says the rest; or NULL */
} waits[WAIT_COUNT] = {
	[WAIT_SIGNAL] = { "waiting for ", say_signals },
	[WAIT_FUTEX] = { "waiting for a lock, ", say_futex },
	[WAIT_SLEEP] = { "sleeping", NULL },
	[WAIT_ACCEPT] = { "waiting for a connection on ", say_fd },
	[WAIT_EPOLL] = { "waiting for ", say_epoll },
	[WAIT_SELECT] = { "waiting for ", say_select },
	[WAIT_POLL] = { "waiting for ", say_poll },
	[WAIT_CHILD] = { "waiting for ", say_child },
	[WAIT_READ] = { "reading ", say_fd },
	[WAIT_WRITE] = { "writing ", say_fd },
	[WAIT_CONNECT] = { "connecting ", say_fd },
	[WAIT_OPEN] = { "opening a file", say_path },
	[WAIT_FIFO] = { "opening a FIFO ", say_fifo },
	[WAIT_LOCK] = { "waiting for a lock on ", say_fd },
	[WAIT_STOPPED] = { "stopped", say_stop },
	[WAIT_CPU] = { "on CPU", NULL },
};

/* --- the thread that is described ----------------------------------------- */

/* A thread has a directory in /proc, too, which is not listed: proc(5). */
static void
read_thread(struct thread *thread)
{
	struct procstat stat;

	if (procstat_read(thread->id, &stat) == -1 || stat.state == 'Z')
		return;
	thread->state = stat.state;
	(void)procfs_read(thread->id, "syscall", thread->call,
	                  sizeof(thread->call));
	(void)procfs_read(thread->id, "wchan", thread->function,
	                  sizeof(thread->function));
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

/* Finds the most telling wait, and how many (if not idle) wait so for it. */
static void
find_thread(struct scene *scene)
{
	struct thread *const best = &scene->thread;
	const pid_t pid = scene->sight->pid;
	const struct procfs_list *const ids = scene_list(pid, "task");

	*best = (struct thread){ .id = pid };
	scene->threads = ids->count;
	for (size_t i = 0; i < ids->count && duration_now() < scene->until;
	     i++) {
		struct thread thread = { .id = ids->numbers[i], .alike = 1 };

		read_thread(&thread);
		/* socketcall(2) has its descriptor in memory. */
		if (thread.number == SYS_socketcall) {
			unsigned long fd = ULONG_MAX;

			(void)read_memory(scene, thread.args[1], &fd,
			                  sizeof(fd));
			thread.args[0] = fd;
		}
		if (thread.rank > best->rank)
			*best = thread;
		else if (thread.rank == best->rank &&
		         thread.wait == best->wait &&
		         (thread.wait <= WAIT_SLEEP ||
		          thread.args[0] == best->args[0]))
			best->alike++;
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
	if (thread->state == 'D')
		say(scene, "uninterruptible");
	else if (thread->wait == WAIT_OTHER && thread->function[0] != '\0')
		say(scene, "waiting in the kernel");
	if (scene->line.length > 0 && thread->function[0] != '\0')
		say(scene, " (%s)", thread->function);
	if (scene->line.length > 0 && thread->wait != WAIT_OTHER)
		say(scene, ", ");
	if (waits[thread->wait].words != NULL)
		say(scene, "%s", waits[thread->wait].words);
	if (waits[thread->wait].say != NULL)
		waits[thread->wait].say(scene);
	/* Unless only the main thread waits in this way. */
	if (scene->line.length > 0 &&
	    (thread->alike > 1 || thread->id != sight->pid))
		say(scene, ", in %d of its %zu threads", thread->alike,
		    scene->threads);
	/* If the thread is still in the same call, then all that was read in
	 * between belongs to that call. Else it does not wait for long. */
	(void)procfs_read(thread->id, "syscall", call, sizeof(call));
	if (thread->wait != WAIT_CPU && strcmp(call, thread->call) != 0) {
		scene->line.length = 0;
		sight->wait[0] = '\0';
	}
	if (scene->look->tells_holders)
		fd_say_output(scene);
}
