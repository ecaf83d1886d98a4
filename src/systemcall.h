#ifndef WDRUN_SYSTEMCALL_H
#define WDRUN_SYSTEMCALL_H

#include <stdbool.h>
#include <stdint.h>

#define SYSTEMCALL_ARGUMENTS 6

/* What kinds of call a process can be blocked in for long. */
enum systemcall_kind {
	SYSTEMCALL_OTHER,
	SYSTEMCALL_READ, /* of the descriptor that is the first argument */
	SYSTEMCALL_WRITE,
	SYSTEMCALL_MOVE, /* from one descriptor to another */
	SYSTEMCALL_SYNC,
	SYSTEMCALL_CONNECT,
	SYSTEMCALL_ACCEPT,
	SYSTEMCALL_OPEN,
	SYSTEMCALL_LOCK, /* a file, by the descriptor of the first argument */
	SYSTEMCALL_FUTEX,
	SYSTEMCALL_WAIT,
	SYSTEMCALL_SLEEP,
	SYSTEMCALL_SIGNAL, /* the wait for one */
	SYSTEMCALL_POLL,
	SYSTEMCALL_SELECT,
	SYSTEMCALL_EPOLL,
	SYSTEMCALL_RING, /* io_uring */
};

/* What /proc/PID/syscall says of a process, proc(5). */
struct systemcall {
	bool is_running; /* it was not blocked, and nothing more is known */
	int64_t number;  /* or -1: it was blocked outside of a call */
	uint64_t arguments[SYSTEMCALL_ARGUMENTS];
	uint64_t stack;
	uint64_t code;
};

/* Reads TEXT, a whole such file, into *CALL. Returns 0, or -1 with errno EINVAL
 * where it is not one. */
int systemcall_parse(const char *text, struct systemcall *call);

/*
 * Of which kind CALL is. Numbers are those of wdrun's own architecture: the
 * call of a process of 32 bits, which has numbers of its own, is OTHER.
 */
enum systemcall_kind systemcall_kind(const struct systemcall *call);

/* For CALL of KIND SYSTEMCALL_POLL, SYSTEMCALL_SELECT or SYSTEMCALL_EPOLL. */
bool systemcall_has_timeout(const struct systemcall *call,
                            enum systemcall_kind kind);

/* For SYSTEMCALL_MOVE: which arguments are the source and the destination. */
void systemcall_move(const struct systemcall *call, int *from_fd, int *to_fd);

/* For SYSTEMCALL_OPEN: sets *PATH to its address in the process's memory, and
 * returns the flags, or -1 where these are not in the arguments. */
int systemcall_open(const struct systemcall *call, uint64_t *path);

/* For SYSTEMCALL_OPEN: whether the path, unless it is absolute, begins in a
 * directory that is a descriptor. */
bool systemcall_has_directory(const struct systemcall *call);

/* For SYSTEMCALL_WAIT: the PID of the only child it waits for, or 0. */
int systemcall_wait(const struct systemcall *call);

#endif
