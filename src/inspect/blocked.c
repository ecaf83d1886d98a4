/* What a process is blocked in: the system call of the most telling thread. */
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "base/kernel.h"
#include "inspect/look.h"
#include "inspect/scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PATH_SIZE    256 /* that is shown */
#define WORDS_SIZE   sizeof(((struct sight *)0)->wait)
#define CALLS_MAX    5
#define FUTEX_OWN    128 /* FUTEX_PRIVATE_FLAG: of this process alone */

/* Of what waits for a file system: the calls, and which argument has the path,
 * 1 as in openat(2); NO_PATH: the first is a descriptor. As everywhere here, 0
 * ends the calls, but as the first it is the number of read(2). */
#define NO_PATH (-1)
static const struct file_wait {
	const char *words;
	int path;
	int calls[CALLS_MAX];
} file_waits[] = {
	{ "looking at a file: ", NO_PATH, { SYS_fstat, SYS_fstat64 } },
	{ "writing to the disk: ", NO_PATH, { SYS_fsync, SYS_fdatasync } },
	{ "reading a directory: ", NO_PATH, { SYS_getdents64 } },
	{ "executing a file", 0, { SYS_execve } },
	{ "entering a directory", 0, { SYS_chdir } },
	{ "opening a file", 0, { SYS_open } },
	{ "opening a file", 1, { SYS_openat, CALL_OPENAT2 } },
	{ "looking at a file",
	  0,
	  { SYS_stat, SYS_lstat, SYS_stat64, SYS_lstat64, SYS_access } },
	{ "looking at a file",
	  1,
	  { SYS_statx, SYS_newfstatat, SYS_fstatat64, SYS_faccessat,
	    CALL_FACCESSAT2 } },
	{ "reading a link", 0, { SYS_readlink } },
	{ "reading a link", 1, { SYS_readlinkat } },
	{ "making a directory", 0, { SYS_mkdir } },
	{ "making a directory", 1, { SYS_mkdirat } },
	{ "removing a file", 0, { SYS_unlink, SYS_rmdir } },
	{ "removing a file", 1, { SYS_unlinkat } },
	{ "renaming a file", 0, { SYS_rename } },
	{ "renaming a file", 1, { SYS_renameat, SYS_renameat2 } },
};

static bool
has_call(const int calls[CALLS_MAX], long number)
{
	for (size_t i = 0; i < CALLS_MAX; i++) {
		if (calls[i] == number && (number != 0 || i == 0))
			return true;
	}
	return false;
}

static const struct file_wait *
find_file_wait(long number)
{
	for (size_t i = 0; i < COUNT(file_waits); i++) {
		if (has_call(file_waits[i].calls, number))
			return &file_waits[i];
	}
	return NULL;
}

/* --- the words of each wait ----------------------------------------------- */

static void
say_fd(struct scene *scene)
{
	struct thread *const thread = &scene->thread;

	const enum source source = fd_say(scene, (int)thread->args[0]);

	if (source == SOURCE_OWN || source == SOURCE_EVENTS)
		thread->rank = WAIT_LOOP;
	if (thread->wait == WAIT_WRITE && thread->state == 'S' &&
	    strstr(thread->function, "pipe_") != NULL)
		say(scene, ": the pipe is full");
	if (thread->wait == WAIT_LOCK)
		fd_say_holder(scene);
}

/* Of splice(2) and sendfile(2). */
static void
say_copy(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_splice = thread->number == SYS_splice;

	(void)fd_say(scene, (int)thread->args[is_splice ? 0 : 1]);
	say(scene, " to ");
	(void)fd_say(scene, (int)thread->args[is_splice ? 2 : 0]);
}

/* Says the path of CALL, if it is known: not where another thread may have
 * changed it, or it starts elsewhere. */
static void
say_path(struct scene *scene, const struct file_wait *call)
{
	const struct thread *const thread = &scene->thread;
	char path[PATH_SIZE] = "";

	if (call == NULL || scene->threads > 1)
		return;

	const size_t length =
	    read_memory(scene, thread->args[call->path], path, sizeof(path));

	if (memchr(path, '\0', length) != NULL && path[0] != '\0' &&
	    (path[0] == '/' || call->path == 0 ||
	     (int)thread->args[0] == AT_FDCWD))
		say(scene, ": '%s'", path);
}

static void
say_file(struct scene *scene)
{
	const struct file_wait *const call =
	    find_file_wait(scene->thread.number);

	say(scene, "%s", call->words);
	if (call->path == NO_PATH)
		(void)fd_say(scene, (int)scene->thread.args[0]);
	else
		say_path(scene, call);
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
	say_path(scene, find_file_wait(thread->number));
}

static void
say_child(struct scene *scene)
{
	say_children(scene, (pid_t)scene->thread.args[0], "a child");
}

/* --- other waits ---------------------------------------------------------- */

/* Whether a futex is shared by processes only its call tells. */
static void
say_futex(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const bool is_own = (thread->args[1] & FUTEX_OWN) != 0;
	const bool has_limit = thread->args[3] != 0;

	if (thread->number == -1)
		say(scene, " (futex)");
	else if (is_own && scene->threads <= 1 && !has_limit)
		say(scene, " that no other thread can release (futex)");
	else
		say(scene,
		    has_limit ? ", %s or a timeout (futex)" : ", or %s (futex)",
		    is_own               ? "another thread"
		    : scene->threads > 1 ? "another thread or process"
		                         : "another process");
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
	[WAIT_FUTEX] = { "waiting for a lock", say_futex },
	[WAIT_SLEEP] = { "sleeping", NULL },
	[WAIT_ACCEPT] = { "waiting for a connection on ", say_fd },
	[WAIT_EPOLL] = { "waiting ", say_epoll },
	[WAIT_SELECT] = { "waiting ", say_select },
	[WAIT_POLL] = { "waiting ", say_poll },
	[WAIT_CHILD] = { "waiting for ", say_child },
	[WAIT_READ] = { "reading ", say_fd },
	[WAIT_WRITE] = { "writing ", say_fd },
	[WAIT_COPY] = { "copying from ", say_copy },
	[WAIT_QUEUE] = { "waiting for the message queue ", say_fd },
	[WAIT_CONNECT] = { "connecting ", say_fd },
	[WAIT_PATH] = { NULL, say_file },
	[WAIT_FIFO] = { "opening a FIFO ", say_fifo },
	[WAIT_LOCK] = { "waiting for a lock on ", say_fd },
	[WAIT_VFORK] = { "waiting for its child to execute or exit", NULL },
	[WAIT_STOPPED] = { "stopped", say_stop },
	[WAIT_FROZEN] = { "frozen", NULL },
	[WAIT_CPU] = { "on CPU", NULL },
};

/* The other system calls that can block for long. */
static const struct {
	enum wait wait;
	int calls[CALLS_MAX];
} kinds[] = {
	{ WAIT_READ,
	  { SYS_read, SYS_readv, SYS_pread64, SYS_recvfrom, SYS_recvmsg } },
	{ WAIT_WRITE,
	  { SYS_write, SYS_writev, SYS_pwrite64, SYS_sendto, SYS_sendmsg } },
	{ WAIT_COPY, { SYS_splice, SYS_sendfile } },
	{ WAIT_QUEUE,
	  { SYS_mq_timedsend, SYS_mq_timedreceive, CALL_MQ_SEND64,
	    CALL_MQ_RECEIVE64 } },
	{ WAIT_CONNECT, { SYS_connect } },
	{ WAIT_ACCEPT, { SYS_accept, SYS_accept4 } },
	{ WAIT_LOCK, { SYS_flock, SYS_fcntl, SYS_fcntl64 } },
	{ WAIT_FUTEX, { SYS_futex, CALL_FUTEX64 } },
	{ WAIT_CHILD, { SYS_wait4, SYS_waitid } },
	/* What a stop has interrupted, unless "functions" tells more. */
	{ WAIT_SLEEP,
	  { SYS_nanosleep, SYS_clock_nanosleep, CALL_CLOCK_NANOSLEEP64,
	    SYS_restart_syscall } },
	{ WAIT_SIGNAL,
	  { SYS_pause, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
	    CALL_SIGTIMEDWAIT64 } },
	{ WAIT_POLL, { SYS_poll, SYS_ppoll, CALL_PPOLL64 } },
	{ WAIT_SELECT,
	  { SYS_select, SYS__newselect, SYS_pselect6, CALL_PSELECT64 } },
	{ WAIT_EPOLL, { SYS_epoll_wait, SYS_epoll_pwait, CALL_EPOLL_PWAIT2 } },
};

/* Parts of the names of kernel functions that a thread sleeps in. Some tell
 * more than its call does; the others its wait where the call may not be read,
 * or was restarted. The last that matches counts: "futex_do_wait" has "do_wait"
 * in it. */
static const struct {
	char part[20];
	enum wait wait;
	bool tells_more;
} functions[] = {
	{ "do_wait", WAIT_CHILD, false },
	{ "nanosleep", WAIT_SLEEP, false },
	{ "sigsuspend", WAIT_SIGNAL, false },
	{ "sys_pause", WAIT_SIGNAL, false },
	{ "poll_schedule", WAIT_POLL, false },
	{ "do_poll", WAIT_POLL, false },
	{ "ep_poll", WAIT_EPOLL, false },
	{ "futex", WAIT_FUTEX, false },
	{ "wait_for_partner", WAIT_FIFO, true },
	{ "fifo_open", WAIT_FIFO, true },
	{ "kernel_clone", WAIT_VFORK, true },
	{ "vfork_done", WAIT_VFORK, true },
	{ "refrigerator", WAIT_FROZEN, true },
	{ "freezer_trap", WAIT_FROZEN, true },
};

/* --- the thread that is described ----------------------------------------- */

static enum wait
wait_of_call(const struct thread *thread)
{
	if (thread->number == -1)
		return WAIT_OTHER;
	if (find_file_wait(thread->number) != NULL)
		return WAIT_PATH;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (has_call(kinds[i].calls, thread->number))
			return kinds[i].wait;
	}
	return WAIT_OTHER;
}

void
thread_parse(struct thread *thread)
{
	uint64_t *const args = thread->args;
	char *at = thread->call;

	thread->number = -1;
	if (*at >= '0' && *at <= '9') { /* "running"; "-1 …": in no call */
		const long number = strtol(at, &at, 10);

		for (size_t i = 0; i < ARGS; i++)
			args[i] = strtoull(at, &at, 16);
		/* Other numbers in a process of another width, as its stack
		 * tells. */
		if ((strtoull(at, NULL, 16) > UINT32_MAX) ==
		    (ULONG_MAX > UINT32_MAX))
			thread->number = number;
	}
	thread->wait = wait_of_call(thread);
	if (thread->number == SYS_waitid && args[0] != P_PIDFD)
		args[0] = args[0] == P_ALL   ? (uint64_t)-1
		          : args[0] == P_PID ? args[1]
		                             : 0;
	for (size_t i = 0; i < COUNT(functions); i++) {
		if (strstr(thread->function, functions[i].part) != NULL &&
		    (functions[i].tells_more || thread->number == -1 ||
		     thread->number == SYS_restart_syscall))
			thread->wait = functions[i].wait;
	}
}

/* Whether a read of LENGTH was refused as of a process that this one does not
 * descend from (Yama), although it is of this user: its FUNCTION is known. */
static bool
is_refused(ssize_t length, const char *function)
{
	return length == -1 && (errno == EPERM || errno == EACCES) &&
	       function[0] != '\0';
}

/* A thread has a directory in /proc, too, which is not listed: proc(5). */
static void
read_thread(struct look *look, struct thread *thread)
{
	struct procstat stat;

	if (procstat_read_status(thread->id, &stat) == -1 || stat.state == 'Z')
		return;
	thread->state = stat.state;
	(void)procfs_read(thread->id, "wchan", thread->function,
	                  sizeof(thread->function));
	/* If the thread is not blocked, or may not be inspected. */
	if (strcmp(thread->function, "0") == 0)
		thread->function[0] = '\0';
	if (!look->is_refused)
		look->is_refused =
		    is_refused(procfs_read(thread->id, "syscall", thread->call,
		                           sizeof(thread->call)),
		               thread->function);
	thread_parse(thread);
	if (thread->state == 'R')
		thread->wait = WAIT_CPU;
	if (thread->state == 'T' || thread->state == 't')
		thread->wait = WAIT_STOPPED;
	thread->rank = thread->state == 'D' && thread->wait != WAIT_VFORK &&
	                       thread->wait != WAIT_FROZEN
	                   ? WAIT_DISK
	                   : thread->wait;
}

bool
process_is_stuck(pid_t pid)
{
	static struct procfs_list ids;
	struct procstat stat;

	scene_list(pid, "task", &ids);
	for (size_t i = 0; i < ids.count; i++) {
		struct thread thread = { .id = ids.numbers[i] };

		if (procstat_read_status(thread.id, &stat) == -1 ||
		    stat.state != 'D')
			continue;
		(void)procfs_read(thread.id, "wchan", thread.function,
		                  sizeof(thread.function));
		thread_parse(&thread);
		if (thread.wait != WAIT_VFORK && thread.wait != WAIT_FROZEN)
			return true;
	}
	return false;
}

/* Whether A and B have the same words: those of the idle do not say for what
 * they wait, those of a futex tell whether other processes share it. */
static bool
is_same_wait(const struct thread *a, const struct thread *b)
{
	if (a->wait != b->wait || strcmp(a->function, b->function) != 0)
		return false;
	return a->wait == WAIT_FUTEX
	           ? ((a->args[1] ^ b->args[1]) & FUTEX_OWN) == 0
	           : a->wait <= WAIT_SLEEP || a->args[0] == b->args[0];
}

/* Says what the thread is blocked in, and may lower its rank. */
static void
describe_thread(struct scene *scene)
{
	struct thread *const thread = &scene->thread;

	scene->polled_count = 0;
	scene->has_more = false;
	if (thread->number == SYS_waitid && thread->args[0] == P_PIDFD)
		thread->args[0] =
		    (uint64_t)fd_value(scene, (int)thread->args[1], "Pid:\t");
	if (thread->rank == WAIT_DISK)
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
}

/* Describes the thread with the most telling wait. */
void
blocked_describe(struct scene *scene)
{
	static struct procfs_list ids; /* the words need lists of their own */
	struct sight *const sight = scene->sight;
	struct thread best = { .id = sight->pid };
	char call[sizeof(best.call)] = "";
	char words[WORDS_SIZE];

	scene_list(sight->pid, "task", &ids);
	scene->threads = ids.count;
	for (size_t i = 0; i < ids.count && duration_now() < scene->until;
	     i++) {
		struct thread thread = { .id = ids.numbers[i], .alike = 1 };

		read_thread(scene->look, &thread);
		/* A process that slept just now has woken up for a moment. */
		for (int tries = 0; tries < 3 && sight->state == 'S' &&
		                    thread.wait == WAIT_CPU;
		     tries++) {
			duration_sleep(MILLISECOND);
			read_thread(scene->look, &thread);
		}
		if (is_same_wait(&thread, &best))
			best.alike++;
		if (thread.rank <= best.rank || is_same_wait(&thread, &best))
			continue;
		scene->thread = thread;
		scene->line =
		    (struct strbuf){ .text = words, .size = sizeof(words) };
		words[0] = '\0';
		describe_thread(scene);
		if (scene->thread.rank <= best.rank)
			continue;
		best = scene->thread;
		memcpy(sight->wait, words, sizeof(words));
	}
	scene->line = (struct strbuf){ .text = sight->wait,
		                       .size = sizeof(sight->wait),
		                       .length = strlen(sight->wait) };
	/* Unless only the main thread waits in this way. */
	if (scene->line.length > 0 && (best.alike > 1 || best.id != sight->pid))
		say(scene, ", in %d of its %zu threads", best.alike,
		    scene->threads);
	/* If the thread is still in the same call, then all that was read in
	 * between belongs to that call. Else it does not wait for long. */
	if (!scene->look->is_refused)
		(void)procfs_read(best.id, "syscall", call, sizeof(call));
	if (best.wait != WAIT_CPU && strcmp(call, best.call) != 0) {
		scene->line.length = 0;
		sight->wait[0] = '\0';
	}
	scene->thread.id = sight->pid;
	if (scene->look->tells_holders)
		fd_say_output(scene);
}
