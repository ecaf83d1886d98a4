#ifndef WDRUN_DESCRIPTOR_H
#define WDRUN_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "fileinfo.h"
#include "message.h"

/*
 * A descriptor of another process, by the name that /proc/PID/fd gives to what
 * it is: "/srv/log", "pipe:[4711]", "socket:[4711]", "anon_inode:[eventfd]". By
 * name, since stat(2) would ask the file system of each file, and one that
 * hangs, which may be why the process does, never answers.
 */
struct descriptor {
	char name[256];
	bool reads; /* it was opened for that */
	bool writes;
};

/* Reads what PID has as its descriptor FD. Returns 0, or -1 with errno where it
 * has none, it is not ours to see, or the name is too long. */
int descriptor_read(pid_t pid, int fd, struct descriptor *descriptor);

/* Looks at the file itself. Returns 0 or -1 with errno. May wait for its file
 * system, if not for what is on it. */
int descriptor_look(pid_t pid, int fd, struct fileinfo *file);

/*
 * Appends to LINE the numbers of PID's descriptors that are FILE, a pipe or
 * socket, and read or write if that does, as "1,2". Returns how many there are,
 * or -1 where there may be some that were not seen: they are not ours to see,
 * or PID or its main thread is dead.
 */
int descriptor_add_holders(struct line *line, pid_t pid,
                           const struct descriptor *file);

#endif
