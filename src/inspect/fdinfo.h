#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "base/fileinfo.h"
#include "base/strbuf.h"

struct process_list;

/* A descriptor of another process, as the link in /proc/PID/fd shows it; the
 * name is "/srv/log", "pipe:[4711]", "socket:[4711]" or "anon_inode:[eventfd]".
 * stat(2) of the link would ask a file system, which may hang. */
struct fdinfo {
	char name[256];
	bool reads; /* the descriptor was opened for reading */
	bool writes;
};

/* Reads the file of descriptor FD of process PID into *FILE. Returns 0, or -1
 * with errno. May wait for a file system that hangs. */
int fdinfo_stat(pid_t pid, int fd, struct fileinfo *file);

/* Appends to LINE (NULL: nowhere), as "1,2", which of PID's descriptors are
 * FILE, a pipe, socket or terminal, and read or write if FILE does. Returns how
 * many, or -1 where some may be hidden, or PID or its main thread is dead. */
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

/* Appends to LINE what the descriptor of WAIT is: "fd 0 (pipe from 4711)".
 * Returns whether it is a pipe, or a FIFO in which the kernel waits: then the
 * kernel does not wait for the file system, which is asked about the FIFO. */
bool fdinfo_add(struct strbuf *line, const struct fdinfo_wait *wait);
