#pragma once

#include <sys/types.h>

#include <stdbool.h>

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

/*
 * Appends to LINE, if that is not NULL, the numbers of PID's descriptors that
 * are FILE, a pipe, socket or terminal, and that read or write if FILE does, as
 * "1,2". Returns how many there are, or -1 where some may not have been seen:
 * they are not ours to see, or PID or its main thread is dead.
 */
int fdinfo_add_holders(struct strbuf *line, pid_t pid,
                       const struct fdinfo *file);

/* A descriptor that a process waits for, and what is known of the wait. */
struct fdinfo_wait {
	pid_t pid;
	int fd;
	/* Where the other end of a pipe is looked for; or NULL. */
	const struct process_list *tree;
	bool in_pipe; /* the kernel waits for a pipe or a FIFO */
	/* Another thread may have opened another file as FD since the wait
	 * began. So the path of a file is left out. */
	bool may_have_changed;
};

/*
 * Appends to LINE what the descriptor of WAIT is: "fd 0 (pipe from 4711)".
 * Returns whether it is a pipe, or a FIFO in which the kernel waits. Asks the
 * file system of a file only in a wait for a FIFO, which is not a wait for the
 * file system.
 */
bool fdinfo_add(struct strbuf *line, const struct fdinfo_wait *wait);
