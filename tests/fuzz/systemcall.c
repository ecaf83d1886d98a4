/*
 * Any bytes as a file /proc/PID/syscall: they are read or refused; and what was
 * read is what it was when it is written and read again.
 */
#include "../../src/systemcall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process where CLAIM does not hold: a crash, with its input. */
static void
require(bool claim)
{
	if (!claim)
		abort();
}

/* As the kernel does: proc_pid_syscall(). */
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
	require(systemcall_kind(one) == systemcall_kind(other));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* On the heap, and no larger than promised: it is seen if more is
	 * touched. */
	char *const text = malloc(size + 1);
	char again[TEXT_SIZE];
	struct systemcall call;
	struct systemcall reread;

	require(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (systemcall_parse(text, &call) == 0) {
		int from_fd;
		int to_fd;
		uint64_t path;

		format(again, &call);
		require(systemcall_parse(again, &reread) == 0);
		require_same(&call, &reread);
		systemcall_move(&call, &from_fd, &to_fd);
		(void)systemcall_open(&call, &path);
		(void)systemcall_wait(&call);
	}
	free(text);
	return 0;
}
