#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/fileinfo.h"
#include "base/strbuf.h"

struct process_list;

/* A descriptor of another process, as the link in /proc/PID/fd shows it. NAME
 * is the link's target: "/srv/log", "pipe:[4711]", "socket:[4711]",
 * "anon_inode:[eventfd]". stat(2) of the link would tell more, but asks the
 * file's file system, which may hang. */
struct fdinfo {
	char name[256];
	bool reads; /* the descriptor is open for reading */
	bool writes;
};

/* Reads about the file of descriptor FD of process PID. Returns 0, or -1 with
 * errno. May wait for a file system that hangs. */
int fdinfo_stat(pid_t pid, int fd, struct fileinfo *file);

#define FDINFO_ENDS_MAX   4
#define FDTABLE_NAME_SIZE 24 /* holds "socket:[4294967295]" */

/* The pipes, sockets and terminals of the processes in LIST. The caller sets
 * all but LIST to 0; the first fdtable_next() reads the descriptors. */
struct fdtable {
	const struct process_list *list; /* or NULL: nothing is known */
	bool is_read;
	bool has_missed; /* some descriptors could not be read */
	size_t count;
	size_t capacity;
	struct fdtable_entry {
		pid_t pid;
		int fd;
		bool reads;
		bool writes;
		char name[FDTABLE_NAME_SIZE];
	} * entries; /* grouped by process */
};

/* Returns the next entry of TABLE, from index *AT on, for the file of FILE,
 * open for reading or writing if FILE is; or NULL. Moves *AT on. */
const struct fdtable_entry *fdtable_next(struct fdtable *table,
                                         const struct fdinfo *file, size_t *at);

/* Processes of the tree, each of which can end a wait; none: not known. */
struct fdinfo_ends {
	int count;
	pid_t pids[FDINFO_ENDS_MAX];
};

/* A descriptor that a process waits for, and what is known of the wait. */
struct fdinfo_wait {
	pid_t pid;
	int fd;
	struct fdtable *table; /* finds the other ends */
	bool in_pipe;   /* blocked in the kernel's code for pipes and FIFOs */
	bool is_polled; /* waited for by poll(2) or the like */
	/* Another thread may have opened another file as FD since the wait
	 * began. So fdinfo_add() leaves out the path of a file. */
	bool may_have_changed;

	/* What fdinfo_add() finds: the processes with the other end (PID
	 * itself, if no other process has it), and for a timerfd the
	 * nanoseconds until the timer expires, else NEVER. */
	struct fdinfo_ends ends;
	int64_t timer;
};

enum fdinfo_kind {
	FDINFO_OTHER,
	FDINFO_PIPE, /* or a FIFO */
	/* Polled, but not waited for: always ready, as a regular file, or made
	 * ready by the process itself, as the pipe, the eventfd or the timer of
	 * an event loop. */
	FDINFO_INTERNAL,
};

/* Appends to LINE what the descriptor of WAIT is: "fd 0 (pipe from 4711)". Asks
 * the file system of a file only if the process waits for a FIFO, and so not
 * for a file system, or polls the descriptor: a regular file is always
 * ready. */
enum fdinfo_kind fdinfo_add(struct strbuf *line, struct fdinfo_wait *wait);
