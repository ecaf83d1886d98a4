/*
 * Any bytes as a file /proc/PID/syscall: they are read or refused; and what was
 * read is the same when it is written and read again.
 */
#include "inspect/syscall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "require.h"

#define TEXT_SIZE 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes it as the kernel does: proc_pid_syscall(). */
static void
format(char text[TEXT_SIZE], const struct systemcall *call)
{
	const uint64_t *const a = call->arguments;

	if (call->is_running)
		(void)snprintf(text, TEXT_SIZE, "running\n");
	else if (call->number == -1)
		(void)snprintf(text, TEXT_SIZE,
		               "-1 0x%" PRIx64 " 0x%" PRIx64 "\n", call->stack,
		               call->code);
	else
		(void)snprintf(text, TEXT_SIZE,
		               "%" PRId64 " 0x%" PRIx64 " 0x%" PRIx64
		               " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64
		               " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 "\n",
		               call->number, a[0], a[1], a[2], a[3], a[4], a[5],
		               call->stack, call->code);
}

static void
require_same(const struct systemcall *one, const struct systemcall *other)
{
	require(one->is_running == other->is_running);
	require(one->number == other->number);
	require(memcmp(one->arguments, other->arguments,
	               sizeof(one->arguments)) == 0);
	require(one->stack == other->stack);
	require(one->code == other->code);
	require(one->kind == other->kind && one->kind < SYSTEMCALL_KINDS);
	require(one->fd == other->fd && one->to_fd == other->to_fd);
	require(one->path == other->path && one->flags == other->flags);
	require(one->has_directory == other->has_directory);
	require(one->child == other->child && one->child >= 0);
	require(one->has_timeout == other->has_timeout);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/*
	 * On the heap, with exactly this size, so that a read beyond it is
	 * seen.
	 */
	char *const text = malloc(size + 1);
	char again[TEXT_SIZE];
	struct systemcall call;
	struct systemcall reread;

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (systemcall_parse(text, &call) == 0) {
		format(again, &call);
		require(systemcall_parse(again, &reread) == 0);
		require_same(&call, &reread);
	}
	free(text);
	return 0;
}
