/* What an event loop waits for: children, signals, descriptors. */
#include <sys/select.h>

#include <fcntl.h>
#include <limits.h>
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

#define NAME_SIZE 64   /* of a file in /proc */
#define FILE_SIZE 8192 /* of an epoll, less than 100 bytes a descriptor */
#define NAMED_MAX 4    /* descriptors that are named */

size_t
read_memory(const struct scene *scene, uint64_t address, void *data,
            size_t size)
{
	char path[NAME_SIZE];

	(void)snprintf(path, sizeof(path), "%d/mem", scene->sight->pid);

	const bool is_left_out =
	    scene->sight->is_stuck || scene->look->is_refused;
	const int fd = is_left_out ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t length = pread(fd, data, size, (off_t)address);

	fds_close(fd);
	return length < 0 ? 0 : (size_t)length;
}

void
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

/* Says for whose SIGCHLD the thread waits, if it has a handler. In the call it
 * blocks the signals that the call was given (set_user_sigmask()). */
void
say_signals(struct scene *scene)
{
	const char *const words =
	    scene->polled_count == 0 ? "a signal" : "events";
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

/* Adds a descriptor that is polled for EVENTS of poll(2), or epoll(7). */
static void
add_polled(struct scene *scene, int fd, int events)
{
	struct pollfd *at = scene->polled;

	while (at < &scene->polled[scene->polled_count] && at->fd != fd)
		at++;
	if (at == &scene->polled[POLLED_MAX]) {
		scene->has_more = true;
		return;
	}
	if (at == &scene->polled[scene->polled_count])
		scene->polled[scene->polled_count++] =
		    (struct pollfd){ .fd = fd };
	at->events = (short)(at->events | events);
}

/* Says the first NAMED_MAX that are worth it. Returns how many are. */
static int
say_descriptors(struct scene *scene)
{
	struct strbuf *const line = &scene->line;
	enum source source = SOURCE_OWN;
	int named = 0;

	for (size_t i = 0; i < scene->polled_count && named <= NAMED_MAX; i++) {
		const struct pollfd *const polled = &scene->polled[i];
		const bool writes = (polled->events & POLLIN) == 0 &&
		                    (polled->events & POLLOUT) != 0;
		const size_t before = line->length;

		say(scene, "%s%s", named > 0 ? ", " : "",
		    writes ? "to write " : "for ");

		const enum source found = fd_say(scene, polled->fd);

		source = found > source ? found : source;
		if (found > SOURCE_OWN && ++named <= NAMED_MAX)
			continue;
		line->length = before;
		line->text[before] = '\0';
	}
	if (source != SOURCE_OTHERS)
		scene->thread.rank = WAIT_LOOP;
	return named;
}

/* Says what the thread polls; its own plumbing is "events". LIMIT is a time
 * limit: if IN_MS, a number of milliseconds (negative: none), else the address
 * of a timespec (NULL: none). */
static void
say_polled(struct scene *scene, uint64_t limit, bool in_ms)
{
	const bool has_limit = in_ms ? (int)limit >= 0 : limit != 0;
	const int named = say_descriptors(scene);

	if (scene->has_more || named > NAMED_MAX)
		say(scene, named > 0 ? " and other descriptors"
		                     : "for input or output");
	if (scene->has_more || named > 0)
		return;
	if (scene->polled_count == 0 && has_limit) {
		scene->line.length -= strlen("waiting ");
		say(scene, "sleeping");
		return;
	}
	/* Without any descriptor, it waits as in pause(2). */
	say(scene, "for ");
	say_signals(scene);
	if (has_limit)
		say(scene, ", or a timer");
	if (has_limit && in_ms) {
		char time[DURATION_TEXT_SIZE];

		say(scene, " within %s",
		    duration_format((int)limit * MILLISECOND, time));
	}
}

void
say_poll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	struct pollfd polled[POLLED_MAX];
	const size_t got =
	    read_memory(scene, thread->args[0], polled, sizeof(polled)) /
	    sizeof(polled[0]);

	for (size_t i = 0; i < got && i < thread->args[1]; i++) {
		if (polled[i].fd >= 0) /* poll(2) ignores others */
			add_polled(scene, polled[i].fd, polled[i].events);
	}
	scene->has_more |= got < thread->args[1] || thread->number == -1;
	say_polled(scene, thread->args[2],
	           thread->number == SYS_poll ||
	               thread->number == SYS_restart_syscall);
}

/* Three sets, each of which may be NULL. The number in the call may be above
 * that of all descriptors (core_sys_select()). */
void
say_select(struct scene *scene)
{
	static const short events[] = { POLLIN, POLLOUT, POLLPRI };
	const uint64_t *const args = scene->thread.args;
	const unsigned all = (unsigned)args[0];

	for (int i = 0; i < 3; i++) {
		fd_set set = { 0 };

		scene->has_more |=
		    args[i + 1] != 0 &&
		    read_memory(scene, args[i + 1], &set, sizeof(set)) == 0;
		for (unsigned fd = 0; fd < all && fd < FD_SETSIZE; fd++) {
			if (FD_ISSET(fd, &set))
				add_polled(scene, (int)fd, events[i]);
		}
	}
	scene->has_more |= all > FD_SETSIZE && scene->polled_count == 0;
	say_polled(scene, args[4], false);
}

/* fdinfo of an epoll(7) has "tfd: 8 events: 19 …" for each file; without the
 * lowest 16 bits, EPOLLONESHOT has disarmed it: ep_send_events(). */
void
say_epoll(struct scene *scene)
{
	const struct thread *const thread = &scene->thread;
	char path[NAME_SIZE];
	char text[FILE_SIZE] = "";
	ssize_t length = -1;

	(void)snprintf(path, sizeof(path), "fdinfo/%d", (int)thread->args[0]);
	if (thread->number != -1)
		length = procfs_read(thread->id, path, text, sizeof(text));
	scene->has_more = length <= 0 || length == sizeof(text) - 1;
	for (char *at = text; (at = strstr(at, "tfd:")) != NULL;) {
		const int fd = (int)strtol(at + strlen("tfd:"), &at, 10);
		const unsigned long events =
		    strtoul(procfs_value(at, "events:"), NULL, 16);

		if ((events & UINT16_MAX) != 0)
			add_polled(scene, fd, (int)(events & SHRT_MAX));
	}
	say_polled(scene, thread->args[3], thread->number != CALL_EPOLL_PWAIT2);
}
