/* What a thread waits in: its system call, from /proc/PID/task/ID/syscall. */
#include <sys/syscall.h>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "inspect/scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define CALLS_MAX    3
#define LOWEST_STACK (UINT64_C(1) << 32)
#define NAMED_MAX    4 /* descriptors that are named */
#define POLLED_MAX   512
#define SELECTED_MAX 1024
#define INFO_SIZE    8192 /* epoll: a descriptor takes less than 100 bytes */

#ifndef SYS_open /* arm64 lacks what newer calls can replace */
enum { SYS_open = -2, SYS_pause = -2, SYS_poll = -2, SYS_select = -2 };
enum { SYS_epoll_wait = -2 };
#endif

/* The system calls that can block for long; the first argument is mostly a
 * descriptor. LIMIT is the index of a time limit, the address of a timespec
 * (NULL: none); or below 0, of a number of milliseconds (negative: none). */
static const struct kind {
	unsigned char wait;
	signed char limit; /* 0: none */
	short calls[CALLS_MAX];
} kinds[] = {
	{ WAIT_OTHER, 0, { -2 } },
#ifdef __LP64__ /* else numbers and arguments differ */
	{ WAIT_READ, 0, { SYS_read, SYS_readv, SYS_pread64 } },
	{ WAIT_READ, 0, { SYS_recvfrom, SYS_recvmsg } },
	{ WAIT_WRITE, 0, { SYS_write, SYS_writev, SYS_pwrite64 } },
	{ WAIT_WRITE, 0, { SYS_sendto, SYS_sendmsg } },
	{ WAIT_CONNECT, 0, { SYS_connect } },
	{ WAIT_ACCEPT, 0, { SYS_accept, SYS_accept4 } },
	{ WAIT_OPEN, 0, { SYS_open, SYS_openat } },
	{ WAIT_LOCK, 0, { SYS_flock, SYS_fcntl } },
	{ WAIT_FUTEX, 3, { SYS_futex } },
	{ WAIT_CHILD, 0, { SYS_wait4, SYS_waitid } },
	{ WAIT_SLEEP, 0, { SYS_nanosleep, SYS_clock_nanosleep } },
	{ WAIT_SIGNAL, 0, { SYS_pause, SYS_rt_sigsuspend } },
	{ WAIT_SIGNAL, 0, { SYS_rt_sigtimedwait } },
	{ WAIT_POLL, -2, { SYS_poll } },
	{ WAIT_POLL, 2, { SYS_ppoll } },
	{ WAIT_SELECT, 4, { SYS_select, SYS_pselect6 } },
	{ WAIT_EPOLL, -3, { SYS_epoll_wait, SYS_epoll_pwait } },
	{ WAIT_EPOLL, 3, { SYS_epoll_pwait2 } },
#endif
};

/* The functions of the kernel, by a part of their names, that tell the wait of
 * a thread whose call may not be read: Yama, another user's process; and tell
 * that a file to open is a FIFO. */
static const struct {
	char part[20];
	enum wait wait;
} functions[] = {
	{ "do_wait", WAIT_CHILD },         { "nanosleep", WAIT_SLEEP },
	{ "sigsuspend", WAIT_SIGNAL },     { "sys_pause", WAIT_SIGNAL },
	{ "wait_for_partner", WAIT_FIFO }, { "fifo_open", WAIT_FIFO },
	{ "futex", WAIT_FUTEX },
};

static void
take_apart(struct thread *thread, const struct kind *kind)
{
	const int i = abs(kind->limit);

	if (kind->wait != WAIT_OPEN || thread->wait != WAIT_FIFO)
		thread->wait = (enum wait)kind->wait;
	if (kind->limit < 0 && (int)thread->args[i] >= 0)
		thread->limit = (int)thread->args[i] * MILLISECOND;
	thread->has_limit =
	    kind->limit > 0 ? thread->args[i] != 0 : thread->limit != NEVER;
	if (thread->number == SYS_fcntl && (int)thread->args[1] != F_SETLKW &&
	    (int)thread->args[1] != F_OFD_SETLKW)
		thread->wait = WAIT_OTHER;
}

void
thread_parse(struct thread *thread)
{
	char *at = thread->call;

	thread->wait = WAIT_OTHER;
	thread->number = -1;
	thread->has_limit = false;
	thread->limit = NEVER;
	for (size_t i = 0; i < COUNT(functions); i++) {
		if (strstr(thread->function, functions[i].part) != NULL)
			thread->wait = functions[i].wait;
	}
	if (strcmp(at, "running\n") == 0)
		thread->wait = WAIT_CPU;
	if (*at < '0' || *at > '9') /* "-1 …": in no call */
		return;

	const long number = strtol(at, &at, 10);

	for (size_t i = 0; i < ARGS; i++)
		thread->args[i] = strtoull(at, &at, 16);

	const uint64_t stack = strtoull(at, &at, 16);

	(void)strtoull(at, &at, 16); /* the instruction */
	/* Only a 32-bit process has a stack so low, and its calls have other
	 * numbers. */
	if (strcmp(at, "\n") != 0 || stack < LOWEST_STACK)
		return;
	thread->number = number;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		for (size_t j = 0; j < CALLS_MAX; j++) {
			/* 0 ends the list, but may be the number of read(2). */
			if (kinds[i].calls[j] == number &&
			    (number != 0 || j == 0))
				take_apart(thread, &kinds[i]);
		}
	}
}

/* By /proc/PID/mem, which reads up to the first page that is not mapped. The
 * address is never followed in this process. */
size_t
thread_read_memory(const struct thread *thread, uint64_t address, void *data,
                   size_t size)
{
	const int fd = scene_open("%d/mem", thread->pid);
	const ssize_t length =
	    fd == -1 ? -1 : pread(fd, data, size, (off_t)address);

	fds_close(fd);
	return length < 0 ? 0 : (size_t)length;
}

/* --- what a thread polls -------------------------------------------------- */

static void
say_polled(struct scene *scene, int fd)
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
	const struct thread *const thread = &scene->thread;
	struct pollfd polled[POLLED_MAX];
	const uint64_t all = thread->args[1];
	const size_t size =
	    (all < POLLED_MAX ? (size_t)all : POLLED_MAX) * sizeof(polled[0]);
	const size_t got =
	    thread_read_memory(thread, thread->args[0], polled, size);

	scene->has_more = all > POLLED_MAX || got < size;
	for (size_t i = 0; i < got / sizeof(polled[0]); i++)
		say_polled(scene, polled[i].fd);
}

/* Three sets, in words of 64 bits, each of which may be NULL. They may be
 * smaller than the number in the call says: the kernel cuts that number to the
 * size of the table of descriptors (core_sys_select()). */
static void
say_select(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	const int all = (int)thread->args[0];
	const int count = all < SELECTED_MAX ? all : SELECTED_MAX;
	const size_t size = count < 0 ? 0 : ((size_t)count + 63) / 64 * 8;
	uint64_t words[3][SELECTED_MAX / 64] = { { 0 } };

	for (int i = 0; i < 3; i++) {
		const uint64_t set = thread->args[i + 1];

		scene->has_more |=
		    set != 0 &&
		    thread_read_memory(thread, set, words[i], size) != size;
	}
	for (int fd = 0; fd < count; fd++) {
		const int i = fd / 64;
		const uint64_t word = words[0][i] | words[1][i] | words[2][i];

		if ((word >> (fd % 64) & 1) != 0)
			say_polled(scene, fd);
	}
	scene->has_more |= count < all && scene->polled == 0;
}

/* fdinfo of an epoll(7) has a line "tfd: 8 events: …" for each file. */
static void
say_epoll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	char text[INFO_SIZE];
	const size_t length = scene_read(
	    scene_open("%d/fdinfo/%d", thread->pid, (int)thread->args[0]), text,
	    sizeof(text));

	scene->has_more = length == 0 || length == sizeof(text) - 1;
	for (char *at = text; (at = strstr(at, "tfd:")) != NULL;)
		say_polled(scene, (int)strtol(at + strlen("tfd:"), &at, 10));
}

void
thread_say_polled(struct scene *scene)
{
	if (scene->thread.wait == WAIT_POLL)
		say_poll(scene);
	else if (scene->thread.wait == WAIT_SELECT)
		say_select(scene);
	else
		say_epoll(scene);
	scene->has_more |= scene->named > NAMED_MAX;
}
