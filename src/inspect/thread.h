#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inspect/syscall.h"

#define THREAD_CALL_SIZE     256
#define THREAD_FUNCTION_SIZE 64

/* What was read of a thread that may be blocked. */
struct thread {
	pid_t pid; /* of the process */
	pid_t id;
	bool in_short;          /* make no read that may wait for the process */
	char state;             /* proc(5) */
	struct systemcall call; /* if unreadable, only the KIND by FUNCTION */
	char text[THREAD_CALL_SIZE];         /* the text of CALL, or "" */
	char function[THREAD_FUNCTION_SIZE]; /* from wchan, or "" */
};

/* Reads /proc/PID/task/ID/FILE into the SIZE bytes at TEXT; "" if FILE cannot
 * be read. */
void thread_read_file(pid_t pid, pid_t id, const char *file, char *text,
                      size_t size);

/* Reads the system call and the kernel's function in which THREAD waits. The
 * caller has set pid, id and in_short. */
void thread_read(struct thread *thread);

/* Whether THREAD is still in the system call that thread_read() has read. Then
 * all that was read of the process in between belongs to that call. */
bool thread_is_unchanged(const struct thread *thread);

/* Returns the number to BASE behind KEY, "SigBlk:\t", in the status file of
 * THREAD; 0 if the file cannot be read. */
uint64_t thread_status(const struct thread *thread, const char *key,
                       unsigned base);

/* How often the thread ID of the process PID has waited; 0 if not known. */
uint64_t thread_switches(pid_t pid, pid_t id);

/* Whether THREAD waits in the kernel's FUNCTION; or in a function with PART in
 * its name: "pipe_read" is "anon_pipe_read" since Linux 6.15. */
bool thread_waits_in(const struct thread *thread, const char *function);
bool thread_waits_in_some(const struct thread *thread, const char *part);
