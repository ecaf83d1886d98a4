/* Which descriptors a process waits for in one system call. */
#include "inspect/pollset.h"

#include <poll.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "inspect/fdinfo.h"
#include "proc/procfs.h"

#define POLLED_MAX   512
#define SELECTED_MAX 1024
#define SETS         3
#define WORD_BITS    64
#define PATH_SIZE    64
#define STACK_MAX    (UINT64_C(1) << 20)
#define INFO_SIZE    8192 /* a line for a descriptor has less than 100 bytes */

static void
add(struct pollset *pollset, int fd)
{
	if (fd < 0)
		return;
	for (size_t i = 0; i < pollset->count; i++) {
		if (pollset->fds[i] == fd)
			return;
	}
	if (pollset->count == POLLSET_MAX)
		pollset->is_more = true;
	else
		pollset->fds[pollset->count++] = fd;
}

/* poll(2) ignores descriptors below 0, and so does add(). */
static void
read_poll(struct pollset *pollset, pid_t pid, const struct systemcall *call)
{
	struct pollfd polled[POLLED_MAX];
	const uint64_t all = call->arguments[1];
	const size_t count = all < POLLED_MAX ? (size_t)all : POLLED_MAX;
	const size_t size = count * sizeof(polled[0]);

	if (procfs_read_memory(pid, call->arguments[0], polled, size) !=
	    (ssize_t)size)
		return;
	pollset->is_more = count < all;
	for (size_t i = 0; i < count; i++)
		add(pollset, polled[i].fd);
}

/* The arguments are three sets of descriptors, in 64-bit words, or NULL. */
static void
read_select(struct pollset *pollset, pid_t pid, const struct systemcall *call)
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
		if (procfs_read_memory(pid, call->arguments[i], set,
		                       (size_t)size) != size)
			return;
		for (int word = 0; word < words; word++)
			either[word] |= set[word];
	}
	pollset->is_more = false;
	for (int fd = 0; fd < count; fd++) {
		if ((either[fd / WORD_BITS] >> (fd % WORD_BITS) & 1) != 0)
			add(pollset, fd);
	}
	/* The sets may be smaller than the number says: the kernel cuts the
	 * number to the size of the descriptor table (core_sys_select()). */
	pollset->is_more |= count < all && pollset->count == 0;
}

/* Returns what follows KEY between AT and END; or NULL. */
static const char *
find(const char *at, const char *end, const char *key)
{
	const size_t length = strlen(key);
	const char *const found =
	    text_find(at, (size_t)(end - at), key, length);

	return found == NULL ? NULL : found + length;
}

/* fdinfo has a line "tfd: 8 events: … ino:4711 …" per descriptor: proc(5). FD 8
 * may be another file by now (epoll(7)); the last line may be cut. */
static void
read_epoll(struct pollset *pollset, pid_t pid, const struct systemcall *call)
{
	char file[PATH_SIZE];
	char text[INFO_SIZE];
	const char *at = text;

	(void)strbuf_format(file, sizeof(file), "fdinfo/%d", call->fd);

	const ssize_t length = procfs_read(pid, file, text, sizeof(text));

	if (length <= 0)
		return;
	pollset->is_more = (size_t)length == sizeof(text) - 1;

	const char *const end = text + length;

	while ((at = find(at, end, "tfd:")) != NULL) {
		const int fd = (int)text_number(at + strspn(at, " "), DECIMAL);
		struct fileinfo file_info;

		at = find(at, end, "ino:");
		if (at != NULL && fdinfo_stat(pid, fd, &file_info) == 0 &&
		    file_info.id.inode == text_number(at, HEXADECIMAL))
			add(pollset, fd);
		else
			pollset->is_more = true;
		if (at == NULL)
			break;
	}
}

/* Whether ADDRESS is in the stack of the calling thread, to which other threads
 * do not write. */
static bool
is_on_stack(const struct systemcall *call, uint64_t address)
{
	return address >= call->stack && address - call->stack < STACK_MAX;
}

void
pollset_read(struct pollset *pollset, pid_t pid, const struct systemcall *call,
             bool may_have_changed)
{
	*pollset = (struct pollset){ .is_more = true };
	if (call->kind == SYSTEMCALL_EPOLL)
		read_epoll(pollset, pid, call);
	else if (call->kind == SYSTEMCALL_POLL &&
	         (!may_have_changed || call->arguments[1] == 0 ||
	          is_on_stack(call, call->arguments[0])))
		read_poll(pollset, pid, call);
	else if (call->kind == SYSTEMCALL_SELECT &&
	         /* The sets for one descriptor can only have fd 0. */
	         (!may_have_changed || call->arguments[0] <= 1 ||
	          is_on_stack(call, call->arguments[1])))
		read_select(pollset, pid, call);
}
