/* What a process waits for that waits for several descriptors. */
#include "watched.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "peek.h"
#include "procfs.h"
#include "text.h"

#define POLLED_MAX   512
#define SELECTED_MAX 1024
#define SETS         3
#define WORD_BITS    64
#define PATH_SIZE    64
#define HEXADECIMAL  16
#define KEY          4    /* bytes of a key */
#define INFO_SIZE    2048 /* a line of it has less than 100 bytes */

static void
add(struct watched *watched, int fd)
{
	if (fd < 0)
		return;
	if (watched->count == WATCHED_MAX)
		watched->is_more = true;
	else
		watched->fds[watched->count++] = fd;
}

/* Those below 0 count for nothing: poll(2). */
static void
read_poll(struct watched *watched, pid_t pid, const struct systemcall *call)
{
	struct pollfd polled[POLLED_MAX];
	const uint64_t all = call->arguments[1];
	const size_t count = all < POLLED_MAX ? (size_t)all : POLLED_MAX;
	const size_t size = count * sizeof(polled[0]);

	if (peek(pid, call->arguments[0], polled, size) != (ssize_t)size)
		return;
	watched->is_more = count < all;
	for (size_t i = 0; i < count; i++)
		add(watched, polled[i].fd);
}

/* Three sets of descriptors, of which each may be missing; in words of 64 bits,
 * as the kernel has them. */
static void
read_select(struct watched *watched, pid_t pid, const struct systemcall *call)
{
	uint64_t either[SELECTED_MAX / WORD_BITS] = { 0 };
	const int all = (int)call->arguments[0];
	const int count = all < SELECTED_MAX ? all : SELECTED_MAX;
	const int words = (count + WORD_BITS - 1) / WORD_BITS;
	const ssize_t size = words * (ssize_t)sizeof(either[0]);

	for (int i = 1; i <= SETS && words > 0; i++) {
		uint64_t set[SELECTED_MAX / WORD_BITS];

		if (call->arguments[i] == 0)
			continue;
		if (peek(pid, call->arguments[i], set, (size_t)size) != size)
			return;
		for (int word = 0; word < words; word++)
			either[word] |= set[word];
	}
	watched->is_more = false;
	for (int fd = 0; fd < count; fd++) {
		if ((either[fd / WORD_BITS] >> (fd % WORD_BITS) & 1) != 0)
			add(watched, fd);
	}
	/* Beyond, there may be no sets, since the kernel looks at no more of
	 * them than the process has room for descriptors. */
	watched->is_more |= count < all && watched->count == 0;
}

/* What stands behind KEY, of four bytes, between AT and END; or NULL. */
static const char *
find(const char *at, const char *end, const char *key)
{
	const char *const found = memmem(at, (size_t)(end - at), key, KEY);

	return found == NULL ? NULL : found + KEY;
}

/* "tfd: 8 events: … ino:4711 …", a line for each: proc(5). The number may be
 * another file's by now, epoll(7), and the last line be cut off. */
static void
read_epoll(struct watched *watched, pid_t pid, const struct systemcall *call)
{
	char file[PATH_SIZE];
	char text[INFO_SIZE];
	const char *at = text;

	(void)text_format(file, sizeof(file), "fdinfo/%d",
	                  (int)call->arguments[0]);

	const ssize_t length = procfs_read(pid, file, text, sizeof(text));

	if (length <= 0)
		return;
	watched->is_more = (size_t)length == sizeof(text) - 1;

	const char *const end = text + length;

	while ((at = find(at, end, "tfd:")) != NULL) {
		const int fd = (int)strtol(at, NULL, 10);
		struct fileinfo info;

		at = find(at, end, "ino:");
		if (at != NULL && descriptor_look(pid, fd, &info) == 0 &&
		    info.inode == strtoull(at, NULL, HEXADECIMAL))
			add(watched, fd);
		else
			watched->is_more = true;
		if (at == NULL)
			break;
	}
}

void
watched_read(struct watched *watched, pid_t pid, const struct systemcall *call,
             enum systemcall_kind kind)
{
	*watched = (struct watched){ .is_more = true };
	if (kind == SYSTEMCALL_POLL)
		read_poll(watched, pid, call);
	else if (kind == SYSTEMCALL_SELECT)
		read_select(watched, pid, call);
	else
		read_epoll(watched, pid, call);
}
