/* What a process is blocked in: the system call of the most telling thread. */
#include <sys/select.h>
#include <sys/wait.h>

#include <errno.h>
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
#include "proc/signals.h"

#define PATH_SIZE  256  /* that is shown */
#define FILE_SIZE  8192 /* of an epoll, less than 100 bytes a descriptor */
#define POLLED_MAX 512
#define REST       " and other descriptors"
#define CALLS_MAX  3
#define NO_CALL    (-1)
#define PAUSE_MAX  16 /* milliseconds that a thread that runs is waited for */
#define RUN_BOUND  (SECOND / 10) /* kept for threads that wait */
#define FUTEX_OWN  128           /* FUTEX_PRIVATE_FLAG: of this process alone */

/* Reads as far as pages are mapped. Returns how many bytes were read. */
static size_t
read_memory(const struct scene *scene, uint64_t address, void *data,
            size_t size)
{
	char path[PATH_SIZE];

	if (scene->look->is_refused || procfs_is_stuck(scene->sight->pid))
		return 0;
	(void)snprintf(path, sizeof(path), "%d/mem", scene->sight->pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = pread(fd, data, size, (off_t)address);

	fds_close(fd);
	return length < 0 ? 0 : (size_t)length;
}

/* Says the path in ARGUMENT, and the descriptor in the first argument if the
 * path is relative to that. */
static void
say_path(struct scene *scene, int argument)
{
	const uint64_t *const args = scene->thread.args;
	char path[PATH_SIZE] = "";

	(void)read_memory(scene, args[argument], path, sizeof(path) - 1);
	if (path[0] == '\0')
		return;
	say(scene, ": '%s'", path);
	if (path[0] != '/' && argument != 0 && (int)args[0] != AT_FDCWD) {
		say(scene, " in ");
		(void)fd_say(scene, (int)args[0]);
	}
}

/* open(2) of a FIFO for reading waits for a writer, and vice versa: fifo(7). */
static void
say_fifo(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool creates = thread->number == SYS_creat;
	const int path = creates || thread->number == SYS_open ? 0 : 1;
	const bool writes = creates || (thread->args[path + 1] & O_WRONLY) != 0;

	say(scene, thread->number == -1 || thread->number == CALL_OPENAT2
	               ? "whose other end nobody opens"
	           : writes ? "that nobody opens for reading"
	                    : "that nobody opens for writing");
	say_path(scene, path);
}

/* Says "child 4711", or "its children 4711, 4712": the child WHICH, all for -1,
 * or for a group (0, or below -1) an only child. Else says WORDS, as for a
 * tracer's child, or one of another PID namespace. */
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
		say(scene, "%s %d", i > 0 ? "," : "", children[i]);
}

static void
say_child(struct scene *scene)
{
	const uint64_t *const args = scene->thread.args;
	const bool is_waitid = scene->thread.number == SYS_waitid;
	pid_t which = (pid_t)args[is_waitid ? 1 : 0];

	if (is_waitid && args[0] == KERNEL_P_PIDFD)
		which = fd_pid(scene, which);
	else if (is_waitid && args[0] != P_PID)
		which = args[0] == P_ALL ? -1 : 0;
	say_children(scene, which, "a child");
}

static void
say_futex(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_own = (thread->args[1] & FUTEX_OWN) != 0;
	const bool has_limit = thread->args[3] != 0;
	const bool is_alone = is_own && scene->threads <= 1 && !has_limit;

	if (thread->number == -1 || (is_alone && thread->handles_sigchld)) {
		say(scene, " (futex)"); /* a handler of fish(1) releases it */
	} else if (is_alone) {
		say(scene, " that no other thread can release (futex)");
	} else {
		say(scene,
		    has_limit ? ", %s or a timeout (futex)" : ", or %s (futex)",
		    is_own               ? "another thread"
		    : scene->threads > 1 ? "another thread or process"
		                         : "another process");
	}
}

/* The kernel stops all of a background job that wants its terminal. */
static void
say_stop(struct scene *scene)
{
	const int signal = scene->sight->pid == scene->look->target
	                       ? scene->look->stop_signal
	                       : scene->sight->stop_signal;

	if (scene->thread.state == 't')
		say(scene, " by a debugger");
	else if (signal == SIGTTIN || signal == SIGTTOU)
		say(scene, ": wants to %s the terminal, in the background",
		    signal == SIGTTIN ? "read" : "use");
}

/* Whoever handles SIGCHLD waits for children; sigwait(3) only for its set. */
static void
say_signals(struct scene *scene)
{
	const char *const words = scene->polls ? "events" : "a signal";

	if (scene->thread.handles_sigchld &&
	    scene->thread.number != CALL_SIGTIMEDWAIT)
		say_children(scene, -1, words);
	else
		say(scene, "%s", words);
}

/* Says a descriptor that is polled for EVENTS, unless it was said before, or is
 * the process's own plumbing. */
static void
say_polled(struct scene *scene, int fd, int events)
{
	const bool writes = (events & POLLIN) == 0 && (events & POLLOUT) != 0;
	const size_t before = scene->line.length;

	scene->polls = true;
	for (int i = 0; i < scene->named_count; i++) {
		if (scene->named[i] == fd)
			return;
	}
	if (scene->has_more || events == 0) /* 0: tail(1) watches its reader */
		return;
	say(scene, "%s%s", scene->named_count == 0 ? "waiting " : ", ",
	    writes ? "to write " : "for ");

	const enum source source = fd_say(scene, fd);
	const bool is_alone =
	    scene->thread.wait == WAIT_POLL && scene->thread.args[1] == 1;
	const bool is_named = source > (is_alone ? SOURCE_OWN : SOURCE_PIPE);

	if (source == SOURCE_OTHERS || (source == SOURCE_IDLE && writes))
		scene->thread.rank = scene->thread.wait;
	else if (source == SOURCE_IDLE && scene->thread.rank == WAIT_LOOP)
		scene->thread.rank = WAIT_ACCEPT;
	/* The last words have to fit, too. */
	if (is_named && scene->named_count < NAMED_MAX &&
	    scene->line.length + sizeof(REST) <= scene->line.size) {
		scene->named[scene->named_count++] = fd;
	} else {
		scene->has_more = is_named;
		scene->line.length = before;
		scene->line.text[before] = '\0';
	}
}

/* Says what else a thread that polls waits for. */
static void
say_rest(struct scene *scene)
{
	if (scene->named_count > 0) {
		say(scene, "%s", scene->has_more ? REST : "");
	} else if (scene->has_more) {
		say(scene, "waiting for input or output");
	} else if (!scene->polls) {
		say(scene, "sleeping");
	} else {
		say(scene, "waiting for ");
		say_signals(scene);
	}
}

static void
say_poll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	struct pollfd polled[POLLED_MAX];
	const size_t got =
	    read_memory(scene, thread->args[0], polled, sizeof(polled)) /
	    sizeof(polled[0]);

	for (size_t i = 0; i < got && i < thread->args[1]; i++) {
		if (polled[i].fd >= 0) /* poll(2) ignores others */
			say_polled(scene, polled[i].fd, polled[i].events);
	}
	scene->has_more |= got < thread->args[1];
	say_rest(scene);
}

/* Three sets, each of which may be NULL. */
static void
say_select(struct scene *scene)
{
	static const int events[] = { POLLIN, POLLOUT, POLLPRI };
	const uint64_t *const args = scene->thread.args;

	scene->has_more |= args[0] > FD_SETSIZE;
	for (int i = 0; i < 3; i++) {
		fd_set set = { 0 };

		scene->has_more |=
		    args[i + 1] != 0 &&
		    read_memory(scene, args[i + 1], &set, sizeof(set)) == 0;
		for (unsigned fd = 0; fd < FD_SETSIZE && fd < args[0]; fd++) {
			if (FD_ISSET(fd, &set))
				say_polled(scene, (int)fd, events[i]);
		}
	}
	say_rest(scene);
}

/* fdinfo of an epoll(7) has "tfd: 8 events: 19 …" for each file; without the
 * lowest 16 bits, EPOLLONESHOT has disarmed it: ep_send_events(). */
static void
say_epoll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	char text[FILE_SIZE];
	const ssize_t length = procfs_read(text, sizeof(text), "%d/fdinfo/%d",
	                                   thread->id, (int)thread->args[0]);

	for (char *at = text; (at = strstr(at, "tfd:")) != NULL;) {
		const int fd = (int)strtol(at + strlen("tfd:"), &at, 10);
		const unsigned long events =
		    strtoul(procfs_value(at, "events:"), NULL, 16);

		if ((events & UINT16_MAX) != 0)
			say_polled(scene, fd, (int)(events & SHRT_MAX));
	}
	scene->has_more |= length <= 0 || length == sizeof(text) - 1;
	say_rest(scene);
}

/* The waits, with the system calls that can block for long. In WORDS, "%0" is
 * the descriptor in the first argument, "@0" the path. 0 ends the calls, but as
 * the first it is a number: read(2), or restart_syscall(2). */
static const struct {
	const char *words;
	enum wait wait;
	int calls[CALLS_MAX];
} rows[] = {
	{ "waiting for ", WAIT_SIGNAL, { SYS_pause, SYS_rt_sigsuspend } },
	{ "waiting for ", WAIT_SIGNAL, { CALL_SIGTIMEDWAIT } },
	{ "waiting for a lock", WAIT_FUTEX, { SYS_futex, CALL_FUTEX64 } },
	/* What a stop has interrupted, unless "functions" tells more. */
	{ "sleeping", WAIT_SLEEP, { SYS_restart_syscall } },
	{ "sleeping", WAIT_SLEEP, { SYS_nanosleep, SYS_clock_nanosleep } },
	{ "sleeping", WAIT_SLEEP, { CALL_CLOCK_NANOSLEEP64 } },
	{ "waiting for a connection on %0", WAIT_ACCEPT, { SYS_accept } },
	{ "waiting for a connection on %0", WAIT_ACCEPT, { SYS_accept4 } },
	{ "", WAIT_EPOLL, { SYS_epoll_wait, SYS_epoll_pwait } },
	{ "", WAIT_EPOLL, { CALL_EPOLL_PWAIT2 } },
	{ "", WAIT_SELECT, { SYS_select, SYS__newselect } },
	{ "", WAIT_SELECT, { SYS_pselect6, CALL_PSELECT64 } },
	{ "", WAIT_POLL, { SYS_poll, SYS_ppoll, CALL_PPOLL } },
	{ "waiting for ", WAIT_CHILD, { SYS_wait4, SYS_waitid } },
	{ "reading %0", WAIT_READ, { SYS_read, SYS_readv, SYS_pread64 } },
	{ "reading %0", WAIT_READ, { SYS_recvfrom, SYS_recvmsg } },
	{ "writing %0", WAIT_WRITE, { SYS_write, SYS_writev, SYS_pwrite64 } },
	{ "writing %0", WAIT_WRITE, { SYS_sendto, SYS_sendmsg } },
	{ "copying %0 to %2", WAIT_IO, { SYS_splice, SYS_copy_file_range } },
	{ "copying %1 to %0", WAIT_IO, { SYS_sendfile } },
	{ "waiting for message queue %0", WAIT_IO, { SYS_mq_timedsend } },
	{ "waiting for message queue %0", WAIT_IO, { SYS_mq_timedreceive } },
	{ "waiting for a message queue", WAIT_IO, { SYS_msgrcv, SYS_msgsnd } },
	{ "connecting %0", WAIT_IO, { SYS_connect } },
	{ "looking at a file: %0", WAIT_FS, { SYS_fstat, SYS_fstatfs } },
	{ "writing to the disk: %0", WAIT_FS, { SYS_fsync, SYS_fdatasync } },
	{ "closing %0", WAIT_FS, { SYS_close } },
	{ "reading a directory: %0", WAIT_FS, { SYS_getdents64 } },
	{ "executing a file@0", WAIT_FS, { SYS_execve } },
	{ "entering a directory@0", WAIT_FS, { SYS_chdir } },
	{ "opening a file@0", WAIT_FS, { SYS_open, SYS_creat } },
	{ "opening a file@1", WAIT_FS, { SYS_openat, CALL_OPENAT2 } },
#ifdef SYS_stat /* not on arm64, riscv64 */
	{ "looking at a file@0", WAIT_FS, { SYS_stat, SYS_lstat, SYS_access } },
	{ "making a directory@0", WAIT_FS, { SYS_mkdir } },
	{ "removing a file@0", WAIT_FS, { SYS_unlink, SYS_rmdir } },
#endif
	{ "looking at a file system@0", WAIT_FS, { SYS_statfs } },
	{ "looking at a file@1", WAIT_FS, { SYS_statx, CALL_FACCESSAT2 } },
	{ "looking at a file@1", WAIT_FS, { SYS_newfstatat, SYS_faccessat } },
	{ "making a directory@1", WAIT_FS, { SYS_mkdirat } },
	{ "removing a file@1", WAIT_FS, { SYS_unlinkat } },
	{ "waiting for a lock on %0", WAIT_LOCK, { SYS_flock } },
	{ "waiting for a lock on %0", WAIT_LOCK, { SYS_fcntl, SYS_fcntl64 } },
	{ "opening a FIFO ", WAIT_FIFO, { NO_CALL } },
	{ "waiting for its child to execute or exit", WAIT_VFORK, { NO_CALL } },
	{ "frozen", WAIT_FROZEN, { NO_CALL } },
	{ "stopped", WAIT_STOPPED, { NO_CALL } },
};

/* Say what WORDS do not. */
static void (*const rests[WAIT_COUNT])(struct scene *scene) = {
	[WAIT_SIGNAL] = say_signals, [WAIT_FUTEX] = say_futex,
	[WAIT_EPOLL] = say_epoll,    [WAIT_SELECT] = say_select,
	[WAIT_POLL] = say_poll,      [WAIT_CHILD] = say_child,
	[WAIT_FIFO] = say_fifo,      [WAIT_STOPPED] = say_stop,
	[WAIT_LOCK] = fd_say_holder,
};

/* Parts of the names of kernel functions that a thread sleeps in. From
 * WAIT_FIFO on they tell more than its call; others tell its wait where the
 * call is not known, or was restarted. The last that matches counts:
 * "futex_do_wait" has "do_wait" in it. */
static const struct {
	const char *part;
	enum wait wait;
} functions[] = {
	{ "do_wait", WAIT_CHILD },         { "nanosleep", WAIT_SLEEP },
	{ "sigsuspend", WAIT_SIGNAL },     { "sys_pause", WAIT_SIGNAL },
	{ "poll_schedule", WAIT_POLL },    { "do_poll", WAIT_POLL },
	{ "ep_poll", WAIT_EPOLL },         { "futex", WAIT_FUTEX },
	{ "wait_for_partner", WAIT_FIFO }, { "fifo_open", WAIT_FIFO },
	{ "kernel_clone", WAIT_VFORK },    { "vfork_done", WAIT_VFORK },
	{ "refrigerator", WAIT_FROZEN },   { "freezer_trap", WAIT_FROZEN },
	{ "get_signal", WAIT_FROZEN }, /* by a control group of version 2 */
};

void
thread_parse(struct thread *thread)
{
	char *at = thread->call;
	enum wait wait = WAIT_OTHER; /* that is known without the call */

	thread->number = -1;
	if (*at >= '0' && *at <= '9') { /* "running"; "-1 …": in no call */
		const long number = strtol(at, &at, 10);

		for (size_t i = 0; i < ARGS; i++)
			thread->args[i] = strtoull(at, &at, 16);
		/* Where the stack is, a process of another width tells. */
		if ((strtoull(at, NULL, 16) > UINT32_MAX) ==
		    (ULONG_MAX > UINT32_MAX))
			thread->number = number;
	}
	for (size_t i = 0; i < COUNT(functions); i++) {
		if (strstr(thread->function, functions[i].part) != NULL &&
		    (functions[i].wait >= WAIT_FIFO || thread->number == -1 ||
		     thread->number == SYS_restart_syscall))
			wait = functions[i].wait;
	}
	if (thread->state == 'T' || thread->state == 't')
		wait = WAIT_STOPPED;
	thread->wait = WAIT_OTHER;
	for (size_t i = 0; i < COUNT(rows) * CALLS_MAX; i++) {
		const size_t row = i / CALLS_MAX;
		const int call = rows[row].calls[i % CALLS_MAX];
		const bool has_call = call >= 0 && call == thread->number &&
		                      (call != 0 || i % CALLS_MAX == 0);

		if (wait == WAIT_OTHER ? has_call : rows[row].wait == wait) {
			thread->wait = rows[row].wait;
			thread->words = rows[row].words;
		}
	}
	thread->rank = thread->wait;
	if (thread->wait == WAIT_FUTEX && thread->args[3] != 0)
		thread->rank = WAIT_SIGNAL; /* with a limit, it tells less */
	if (thread->state == 'D' && thread->wait < WAIT_VFORK)
		thread->rank = WAIT_DISK;
}

/* A thread has a directory in /proc, too, which is not listed: proc(5). */
static void
read_thread(struct look *look, struct thread *thread)
{
	struct procstat stat;

	*thread = (struct thread){ .id = thread->id, .words = "" };
	if (procstat_read_status(thread->id, &stat) == -1 || stat.state == 'Z')
		return;
	thread->state = stat.state;
	/* But Go catches every signal, and waits for a child in waitid(2). */
	thread->handles_sigchld = (stat.caught & SIGNAL_BIT(SIGCHLD)) != 0 &&
	                          (stat.caught & SIGNAL_BIT(SIGURG)) == 0;
	(void)procfs_read(thread->function, sizeof(thread->function),
	                  "%d/wchan", thread->id);
	if (strcmp(thread->function, "0") == 0) /* not blocked, or refused */
		thread->function[0] = '\0';
	/* Yama refuses the call of a process that does not descend from this
	 * one, although it is of this user: its function is known. */
	if (!look->is_refused &&
	    procfs_read(thread->call, sizeof(thread->call), "%d/syscall",
	                thread->id) == -1 &&
	    (errno == EPERM || errno == EACCES)) {
		look->is_denied |= thread->state != 'R';
		look->is_refused = thread->function[0] != '\0';
	}
	thread_parse(thread);
}

/* Whether A and B wait in the same way for the same thing: the first argument
 * names it, of waitid(2) the second. Idle waits and futexes are all alike. */
static bool
is_same_wait(const struct thread *a, const struct thread *b)
{
	const int argument = a->number == SYS_waitid ? 1 : 0;

	return a->state != 'R' && a->wait == b->wait &&
	       (a->wait != WAIT_FUTEX || a->rank == b->rank) &&
	       strcmp(a->function, b->function) == 0 &&
	       (a->wait <= WAIT_FUTEX ||
	        a->args[argument] == b->args[argument]);
}

/* Says what the thread is blocked in, and may lower its rank. */
static void
say_wait(struct scene *scene)
{
	struct thread *const thread = &scene->thread;

	scene->named_count = 0;
	scene->polls = false;
	scene->has_more = thread->number == -1;
	if (thread->function[0] != '\0' &&
	    (thread->rank == WAIT_DISK || thread->wait == WAIT_OTHER))
		say(scene, "%s (%s)%s",
		    thread->rank == WAIT_DISK ? "uninterruptible"
		                              : "waiting in the kernel",
		    thread->function, thread->wait == WAIT_OTHER ? "" : ", ");
	for (const char *at = thread->words; *at != '\0'; at++) {
		if (*at == '%') {
			const enum source source =
			    fd_say(scene, (int)thread->args[*++at - '0']);

			if (source < SOURCE_IDLE)
				thread->rank = WAIT_LOOP;
			else if (source == SOURCE_IDLE &&
			         thread->wait == WAIT_READ)
				thread->rank = WAIT_ACCEPT;
		} else if (*at == '@') {
			say_path(scene, *++at - '0');
		} else {
			say(scene, "%c", *at);
		}
	}
	/* Unless it polls others than itself: say_polled(). */
	if (thread->wait >= WAIT_EPOLL && thread->wait <= WAIT_POLL)
		thread->rank = WAIT_LOOP;
	if (rests[thread->wait] != NULL)
		rests[thread->wait](scene);
}

/* Describes the thread in WORDS, or returns false: it does not wait. If it is
 * in the same call afterwards, all that was read is of that call. But an event
 * loop that wakes up for its own plumbing is in another one: what two
 * descriptions in a row say is true of both. An only thread that runs may soon
 * wait again. */
static bool
describe_thread(struct scene *scene, char words[WAIT_SIZE])
{
	struct thread *const thread = &scene->thread;
	struct thread again = { .id = thread->id };
	char before[WAIT_SIZE];

	if (thread->state == 'R' &&
	    (scene->threads > 1 || scene->until - duration_now() < RUN_BOUND))
		return false;
	for (int pause = 1; pause < PAUSE_MAX && duration_now() < scene->until;
	     pause *= 2) {
		if (thread->state != 'R') {
			memcpy(before, words, WAIT_SIZE);
			scene->line =
			    (struct strbuf){ .text = words, .size = WAIT_SIZE };
			words[0] = '\0';
			say_wait(scene);
			read_thread(scene->look, &again);
			if (strcmp(again.call, thread->call) == 0 ||
			    (pause > 1 && strcmp(words, before) == 0))
				return true;
		}
		(void)poll(NULL, 0, pause);
		read_thread(scene->look, thread);
	}
	return false;
}

void
blocked_describe(struct scene *scene)
{
	static struct procfs_list ids; /* the words need lists of their own */
	struct sight *const sight = scene->sight;
	struct thread *const thread = &scene->thread;
	struct thread best = { .id = sight->pid };
	char words[WAIT_SIZE] = "";
	size_t alike = 0; /* threads in the same wait as BEST */
	size_t running = 0;
	size_t sleeping = 0;

	procfs_list_of(sight->pid, "task", &ids);
	scene->threads = ids.count;
	for (size_t i = 0; i < ids.count && duration_now() < scene->until;
	     i++) {
		thread->id = ids.numbers[i];
		read_thread(scene->look, thread);
		if (thread->state == 'R' && thread->id == sight->pid)
			best.rank = WAIT_LOOP; /* helpers that idle tell less */
		if (is_same_wait(thread, &best)) {
			alike++;
		} else if (thread->rank > best.rank &&
		           describe_thread(scene, words) &&
		           thread->rank > best.rank) {
			best = *thread;
			alike = 1;
			memcpy(sight->wait, words, sizeof(words));
		}
		running += thread->state == 'R';
		sleeping += thread->wait == WAIT_SLEEP;
	}
	scene->line = (struct strbuf){ .text = sight->wait,
		                       .size = sizeof(sight->wait),
		                       .length = strlen(sight->wait) };
	/* Not where the main thread alone waits in this way. */
	if (scene->line.length > 0 && (alike > 1 || best.id != sight->pid))
		say(scene, ", in %zu of its %zu threads", alike, ids.count);
	/* Beside threads that hang, or idle, others may tick or compute. */
	if ((best.wait == WAIT_FUTEX || best.rank == WAIT_ACCEPT) &&
	    sleeping > 0)
		say(scene, "; sleeping, in %zu of its %zu threads", sleeping,
		    ids.count);
	if (running > 0)
		say(scene, "%son CPU", scene->line.length > 0 ? "; " : "");
	if (running > 0 && ids.count > 1)
		say(scene, ", in %zu of its %zu threads", running, ids.count);
	if (scene->look->tells_holders)
		fd_say_output(scene);
}
