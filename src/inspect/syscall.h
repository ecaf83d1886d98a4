#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SYSTEMCALL_ARGUMENTS     6
#define SYSTEMCALL_FLAGS_UNKNOWN (-1)

/* The kinds of system calls that can block a process for long. blocked.c has
 * the words for each kind. */
enum systemcall_kind {
	SYSTEMCALL_OTHER,
	SYSTEMCALL_READ,
	SYSTEMCALL_WRITE,
	SYSTEMCALL_MOVE, /* data from one descriptor to another */
	SYSTEMCALL_SYNC,
	SYSTEMCALL_CONNECT,
	SYSTEMCALL_ACCEPT,
	SYSTEMCALL_OPEN,
	SYSTEMCALL_LOCK, /* a file, by its descriptor */
	SYSTEMCALL_FUTEX,
	SYSTEMCALL_WAIT, /* for a child */
	SYSTEMCALL_SLEEP,
	SYSTEMCALL_SIGNAL, /* waiting for a signal */
	SYSTEMCALL_POLL,
	SYSTEMCALL_SELECT,
	SYSTEMCALL_EPOLL,
	SYSTEMCALL_RING, /* io_uring */
	SYSTEMCALL_KINDS,
};

/* What /proc/PID/syscall tells of a process, proc(5). */
struct systemcall {
	bool is_running; /* the process is not blocked: all else is 0 */
	int64_t number;  /* -1: blocked outside of a system call */
	uint64_t arguments[SYSTEMCALL_ARGUMENTS];
	uint64_t stack;
	uint64_t code;

	/* What the arguments mean. Each field names its kinds of call. */
	enum systemcall_kind kind;
	int fd;             /* READ to ACCEPT, LOCK, EPOLL; MOVE: the source */
	int to_fd;          /* MOVE: the destination */
	uint64_t path;      /* OPEN: an address in the memory of the process */
	int flags;          /* OPEN: or SYSTEMCALL_FLAGS_UNKNOWN */
	bool has_directory; /* OPEN: a relative path starts at a descriptor */
	pid_t child;        /* WAIT: PID in the caller's namespace, or 0 */
	bool is_selective;  /* WAIT: for some children only */
	bool has_timeout;   /* FUTEX, POLL, SELECT, EPOLL */
	int64_t timeout;    /* POLL, EPOLL: in nanoseconds; NEVER: not known */
};

/* Reads TEXT, a whole /proc/PID/syscall file, into *CALL. Returns 0, or -1 with
 * errno EINVAL if TEXT is no such file. A call of a 32-bit process, whose
 * numbers differ from those of a 64-bit wdrun, is of kind OTHER. */
int systemcall_parse(const char *text, struct systemcall *call);
