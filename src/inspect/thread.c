/* What the kernel tells of a thread that may be blocked. */
#include "inspect/thread.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "proc/procfs.h"

#define PATH_SIZE   256
#define STATUS_SIZE 8192

/* A test of the fallback builds with a name that no kernel has. */
#ifndef SYSCALL_FILE
#define SYSCALL_FILE "syscall"
#endif

void
/* NOLINTNEXTLINE(readability-function-size): as procfs_read(), and ID */
thread_read_file(pid_t pid, pid_t id, const char *file, char *text, size_t size)
{
	char path[PATH_SIZE];

	(void)strbuf_format(path, sizeof(path), "task/%d/%s", id, file);
	if (procfs_read(pid, path, text, size) <= 0)
		text[0] = '\0';
}

static uint64_t
read_status(pid_t pid, pid_t id, const char *key, unsigned base)
{
	char text[STATUS_SIZE];

	thread_read_file(pid, id, "status", text, sizeof(text));

	const char *const value = procfs_find(text, key);

	return value == NULL ? 0 : text_number(value, base);
}

uint64_t
thread_status(const struct thread *thread, const char *key, unsigned base)
{
	return read_status(thread->pid, thread->id, key, base);
}

uint64_t
thread_switches(pid_t pid, pid_t id)
{
	return read_status(pid, id, "voluntary_ctxt_switches:\t", DECIMAL);
}

bool
thread_waits_in(const struct thread *thread, const char *function)
{
	return strcmp(thread->function, function) == 0;
}

bool
thread_waits_in_some(const struct thread *thread, const char *part)
{
	return text_find(thread->function, strlen(thread->function), part,
	                 strlen(part)) != NULL;
}

/* If the system call may not be read: names of kernel functions, in part, and
 * the kind of wait that they show. */
static const struct {
	const char *part;
	enum systemcall_kind kind;
} functions[] = {
	{ "do_wait", SYSTEMCALL_WAIT },      { "nanosleep", SYSTEMCALL_SLEEP },
	{ "sigsuspend", SYSTEMCALL_SIGNAL }, { "sys_pause", SYSTEMCALL_SIGNAL },
	{ "futex", SYSTEMCALL_FUTEX },
};

/* Reads the system call of THREAD; "" if it cannot be read. */
static void
read_call(const struct thread *thread, char text[THREAD_CALL_SIZE])
{
	text[0] = '\0';
	if (!thread->in_short)
		thread_read_file(thread->pid, thread->id, SYSCALL_FILE, text,
		                 THREAD_CALL_SIZE);
}

void
thread_read(struct thread *thread)
{
	read_call(thread, thread->text);
	/* "0" if the thread is not blocked, or may not be inspected. */
	thread_read_file(thread->pid, thread->id, "wchan", thread->function,
	                 THREAD_FUNCTION_SIZE);
	if (thread_waits_in(thread, "0"))
		thread->function[0] = '\0';
	if (systemcall_parse(thread->text, &thread->call) == 0)
		return;
	thread->call = (struct systemcall){ .is_selective = true };
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (thread_waits_in_some(thread, functions[i].part))
			thread->call.kind = functions[i].kind;
	}
}

bool
thread_is_unchanged(const struct thread *thread)
{
	char text[THREAD_CALL_SIZE];

	read_call(thread, text);
	return strcmp(text, thread->text) == 0;
}
