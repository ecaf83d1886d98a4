/* What a thread waits in: its system call, from /proc/PID/task/ID/syscall. */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/fds.h"
#include "inspect/scene.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define LOWEST_STACK (UINT64_C(1) << 32)
#define POLLED_MAX   512
#define SELECTED_MAX 1024
#define INFO_SIZE    8192 /* epoll: a descriptor takes less than 100 bytes */

/*
 * The system calls that can block for long, and the indices of the arguments
 * that tell what for:
 * FD     a descriptor; of OPEN its flags, 0 if they are not in an argument
 * OTHER  of MOVE the descriptor to which the data goes, of OPEN the path, of
 *        CHILD the PID
 * LIMIT  a time limit, the address of a timespec (NULL: none); or below 0,
 *        a number of milliseconds (negative: none). 0: the call has no limit.
 * A 32-bit wdrun takes no call apart: its numbers and arguments differ.
 */
static const struct row {
	short number;
	unsigned char wait;
	unsigned char fd;
	unsigned char other;
	signed char limit;
} rows[] = {
	{ -1, WAIT_OTHER, 0, 0, 0 },
#ifdef __LP64__
	{ SYS_read, WAIT_READ, 0, 0, 0 },
	{ SYS_readv, WAIT_READ, 0, 0, 0 },
	{ SYS_pread64, WAIT_READ, 0, 0, 0 },
	{ SYS_preadv, WAIT_READ, 0, 0, 0 },
	{ SYS_preadv2, WAIT_READ, 0, 0, 0 },
	{ SYS_recvfrom, WAIT_READ, 0, 0, 0 },
	{ SYS_recvmsg, WAIT_READ, 0, 0, 0 },
	{ SYS_recvmmsg, WAIT_READ, 0, 0, 0 },
	{ SYS_write, WAIT_WRITE, 0, 0, 0 },
	{ SYS_writev, WAIT_WRITE, 0, 0, 0 },
	{ SYS_pwrite64, WAIT_WRITE, 0, 0, 0 },
	{ SYS_pwritev, WAIT_WRITE, 0, 0, 0 },
	{ SYS_pwritev2, WAIT_WRITE, 0, 0, 0 },
	{ SYS_sendto, WAIT_WRITE, 0, 0, 0 },
	{ SYS_sendmsg, WAIT_WRITE, 0, 0, 0 },
	{ SYS_sendmmsg, WAIT_WRITE, 0, 0, 0 },
	{ SYS_splice, WAIT_MOVE, 0, 2, 0 },
	{ SYS_tee, WAIT_MOVE, 0, 1, 0 },
	{ SYS_sendfile, WAIT_MOVE, 1, 0, 0 },
	{ SYS_copy_file_range, WAIT_MOVE, 0, 2, 0 },
	{ SYS_fsync, WAIT_SYNC, 0, 0, 0 },
	{ SYS_fdatasync, WAIT_SYNC, 0, 0, 0 },
	{ SYS_connect, WAIT_CONNECT, 0, 0, 0 },
	{ SYS_accept, WAIT_ACCEPT, 0, 0, 0 },
	{ SYS_accept4, WAIT_ACCEPT, 0, 0, 0 },
	{ SYS_openat, WAIT_OPEN, 2, 1, 0 },
	{ SYS_openat2, WAIT_OPEN, 0, 1, 0 },
	{ SYS_flock, WAIT_LOCK, 0, 0, 0 },
	{ SYS_fcntl, WAIT_LOCK, 0, 0, 0 },
	{ SYS_futex, WAIT_FUTEX, 0, 0, 3 },
	{ SYS_wait4, WAIT_CHILD, 0, 0, 0 },
	{ SYS_waitid, WAIT_CHILD, 0, 1, 0 },
	{ SYS_nanosleep, WAIT_SLEEP, 0, 0, 0 },
	{ SYS_clock_nanosleep, WAIT_SLEEP, 0, 0, 0 },
	{ SYS_rt_sigsuspend, WAIT_SIGNAL, 0, 0, 0 },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL, 0, 0, 0 },
	{ SYS_ppoll, WAIT_POLL, 0, 0, 2 },
	{ SYS_pselect6, WAIT_SELECT, 0, 0, 4 },
	{ SYS_epoll_pwait, WAIT_EPOLL, 0, 0, -3 },
	{ SYS_epoll_pwait2, WAIT_EPOLL, 0, 0, 3 },
	{ SYS_io_uring_enter, WAIT_RING, 0, 0, 0 },
/* arm64 lacks the calls that a newer call can replace. */
#ifdef SYS_open
	{ SYS_open, WAIT_OPEN, 1, 0, 0 },
	{ SYS_creat, WAIT_OPEN, 0, 0, 0 },
	{ SYS_pause, WAIT_SIGNAL, 0, 0, 0 },
	{ SYS_poll, WAIT_POLL, 0, 0, -2 },
	{ SYS_select, WAIT_SELECT, 0, 0, 4 },
	{ SYS_epoll_wait, WAIT_EPOLL, 0, 0, -3 },
#endif
#endif
};

/* The functions of the kernel, by a part of their names, that tell the wait of
 * a thread whose call may not be read: Yama, another user's process. */
static const struct {
	char part[12];
	enum wait wait;
} functions[] = {
	{ "do_wait", WAIT_CHILD },     { "nanosleep", WAIT_SLEEP },
	{ "sigsuspend", WAIT_SIGNAL }, { "sys_pause", WAIT_SIGNAL },
	{ "futex", WAIT_FUTEX },
};

/* Which child wait4(2) or waitid(2) waits for. */
static int
child_of(const struct thread *thread, int pid)
{
	if (thread->number == SYS_wait4)
		return pid == -1 ? 0 : pid > 0 ? pid : -1;
	switch ((int)thread->args[0]) {
	case P_ALL:
		return 0;
	case P_PID:
		return pid;
	default:
		return -1;
	}
}

static void
take_apart(struct thread *thread, const struct row *row)
{
	const uint64_t *const args = thread->args;

	thread->wait = (enum wait)row->wait;
	thread->fd = (int)args[row->fd];
	thread->other = (int)args[row->other];
	if (row->limit != 0)
		thread->has_limit = row->limit > 0
		                        ? args[row->limit] != 0
		                        : (int)args[-row->limit] >= 0;
	if (row->limit < 0 && thread->has_limit)
		thread->limit = (int)args[-row->limit] * MILLISECOND;
	if (thread->wait == WAIT_CHILD)
		thread->other = child_of(thread, thread->other);
	if (thread->wait == WAIT_OPEN) {
		thread->path = args[row->other];
		thread->fd = row->fd == 0 ? -1 : (int)args[row->fd];
	}
	if (thread->number == SYS_fcntl && (int)args[1] != F_SETLKW &&
	    (int)args[1] != F_OFD_SETLKW)
		thread->wait = WAIT_OTHER;
}

void
thread_parse(struct thread *thread)
{
	char *at = thread->call;
	uint64_t stack;

	thread->wait = WAIT_OTHER;
	thread->number = thread->fd = thread->other = -1;
	thread->has_limit = false;
	thread->limit = NEVER;
	for (size_t i = 0; *at == '\0' && i < COUNT(functions); i++) {
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
	stack = strtoull(at, &at, 16);
	(void)strtoull(at, &at, 16); /* the instruction */
	/* Only a 32-bit process has a stack so low, and its calls have other
	 * numbers. */
	if (strcmp(at, "\n") != 0 || stack < LOWEST_STACK)
		return;
	thread->number = number;
	for (size_t i = 0; i < COUNT(rows); i++) {
		if (rows[i].number == number)
			take_apart(thread, &rows[i]);
	}
}

/* By /proc/PID/mem, which reads up to the first page that is not mapped. The
 * address is never followed in this process. */
size_t
thread_read_memory(const struct thread *thread, uint64_t address, void *data,
                   size_t size)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/mem", thread->pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length =
	    fd == -1 ? -1 : pread(fd, data, size, (off_t)address);

	fds_close(fd);
	return length < 0 ? 0 : (size_t)length;
}

/* --- sets of descriptors -------------------------------------------------- */

static void
add(struct fdset *set, int fd)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->fds[i] == fd)
			return;
	}
	if (fd >= 0 && set->count < FDS_MAX)
		set->fds[set->count++] = fd;
	else if (fd >= 0) /* poll(2) ignores descriptors below 0 */
		set->has_more = true;
}

static void
add_polled(struct fdset *set, const struct thread *thread)
{
	struct pollfd polled[POLLED_MAX];
	const uint64_t all = thread->args[1];
	const size_t size =
	    (all < POLLED_MAX ? (size_t)all : POLLED_MAX) * sizeof(polled[0]);
	const size_t got =
	    thread_read_memory(thread, thread->args[0], polled, size);

	set->has_more = all > POLLED_MAX || got < size;
	for (size_t i = 0; i < got / sizeof(polled[0]); i++)
		add(set, polled[i].fd);
}

/* Three sets, in words of 64 bits, each of which may be NULL. They may be
 * smaller than the number in the call says: the kernel cuts that number to the
 * size of the table of descriptors (core_sys_select()). */
static void
add_selected(struct fdset *set, const struct thread *thread)
{
	const int all = (int)thread->args[0];
	const int most = all < SELECTED_MAX ? all : SELECTED_MAX;
	const int count = most < 0 ? 0 : most;
	const size_t size = ((size_t)count + 63) / 64 * 8;

	for (int i = 1; i <= 3; i++) {
		uint64_t words[SELECTED_MAX / 64] = { 0 };

		if (thread->args[i] != 0 &&
		    thread_read_memory(thread, thread->args[i], words, size) !=
		        size)
			set->has_more = true;
		for (int fd = 0; fd < count; fd++) {
			if ((words[fd / 64] >> (fd % 64) & 1) != 0)
				add(set, fd);
		}
	}
	set->has_more |= count < all && set->count == 0;
}

/*
 * fdinfo of an epoll(7) has a line "tfd: 8 events: … ino:1267 …", in
 * hexadecimal, for each file. Descriptor 8 may be another file by now; its own
 * fdinfo has the line "ino: 4711" since Linux 5.14.
 */
static void
add_epoll(struct fdset *set, const struct thread *thread)
{
	char text[INFO_SIZE];
	const ssize_t length = scene_read(text, sizeof(text), "%d/fdinfo/%d",
	                                  thread->pid, thread->fd);

	set->has_more = length <= 0 || (size_t)length == sizeof(text) - 1;
	for (char *at = text; (at = strstr(at, "tfd:")) != NULL;) {
		const int fd = (int)strtol(at + strlen("tfd:"), &at, 10);
		const char *const inode = strstr(at, "ino:");
		char info[INFO_SIZE];

		(void)scene_read(info, sizeof(info), "%d/fdinfo/%d",
		                 thread->pid, fd);

		const char *const now = strstr(info, "\nino:");

		if (info[0] == '\0' || inode == NULL ||
		    (now != NULL && strtoull(now + 5, NULL, 10) !=
		                        strtoull(inode + 4, NULL, 16)))
			set->has_more = true;
		else
			add(set, fd);
	}
}

void
thread_fds(const struct thread *thread, struct fdset *set)
{
	*set = (struct fdset){ .count = 0 };
	if (thread->wait == WAIT_POLL)
		add_polled(set, thread);
	else if (thread->wait == WAIT_SELECT)
		add_selected(set, thread);
	else
		add_epoll(set, thread);
}
