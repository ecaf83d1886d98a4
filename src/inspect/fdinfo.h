#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/fileinfo.h"
#include "base/strbuf.h"

struct process_list;

/*
 * A descriptor of another process, as its link in /proc/PID/fd shows it. The
 * name is the link's target: "/srv/log", "pipe:[4711]", "socket:[4711]",
 * "anon_inode:[eventfd]". stat(2) of the link would tell more, but it asks the
 * file system of the file, and a file system that hangs never answers.
 */
struct fdinfo {
	char name[256];
	bool reads; /* the descriptor was opened for reading */
	bool writes;
};

/* Reads the file of descriptor FD of process PID into *FILE. Returns 0, or -1
 * with errno. May wait for a file system that hangs. */
int fdinfo_stat(pid_t pid, int fd, struct fileinfo *file);

#define FDINFO_ENDS_MAX   4
#define FDTABLE_NAME_SIZE 24 /* holds "socket:[4294967295]" */

/*
 * Which processes of LIST have which pipes, sockets and terminals. All but LIST
 * begins as 0; the descriptors are read once, when they are first needed.
 */
struct fdtable {
	const struct process_list *list; /* or NULL: nothing is known */
	bool is_read;
	bool has_missed; /* some descriptors are not ours to see */
	size_t count;
	size_t capacity;
	struct fdtable_entry {
		pid_t pid;
		int fd;
		bool reads;
		bool writes;
		char name[FDTABLE_NAME_SIZE];
	} * entries; /* those of a process beside one another */
};

/* The next descriptor of TABLE, from *AT on, that is FILE, and that reads or
 * writes if FILE does; or NULL. */
const struct fdtable_entry *fdtable_next(struct fdtable *table,
                                         const struct fdinfo *file, size_t *at);

/* The processes of the tree any of which can end a wait; none: not known. */
struct fdinfo_ends {
	int count;
	pid_t pids[FDINFO_ENDS_MAX];
};

/* A descriptor that a process waits for, and what is known of the wait. */
struct fdinfo_wait {
	pid_t pid;
	int fd;
	struct fdtable *table; /* where other ends are looked for */
	bool in_pipe;          /* the kernel waits for a pipe or a FIFO */
	bool is_polled;        /* the process waits for it among others */
	/* Another thread may have opened another file as FD since the wait
	 * began. So the path of a file is left out. */
	bool may_have_changed;

	/* What fdinfo_add() finds: who has the other end, which is PID itself
	 * if no other process has it; and the nanoseconds until the timer that
	 * FD is expires, or NEVER. */
	struct fdinfo_ends ends;
	int64_t timer;
};

enum fdinfo_kind {
	FDINFO_OTHER,
	FDINFO_PIPE, /* or a FIFO */
	/* A process that polls it does not wait for it: it is always ready, as
	 * a regular file, or the process itself makes it so, as the pipe, the
	 * eventfd or the timer of its event loop. */
	FDINFO_INTERNAL,
};

/*
 * Appends to LINE what the descriptor of WAIT is: "fd 0 (pipe from 4711)". Asks
 * the file system of a file only in a wait for a FIFO, which is not a wait for
 * the file system, and where it is polled, which a file system with files that
 * hang does not support.
 */
enum fdinfo_kind fdinfo_add(struct strbuf *line, struct fdinfo_wait *wait);
