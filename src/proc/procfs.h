#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * /proc (proc(5)), opened once: whatever is mounted over /proc later, or
 * unmounted, the descriptor shows the same processes.
 *
 * A process is named by its PID in that /proc; or for certain by DIR, a
 * descriptor of its directory. DIR stands for one process: once that is reaped,
 * each call through DIR fails with ESRCH, whoever has the PID by then.
 *
 * The functions that return -1 set errno: ENOENT or ESRCH where the process is
 * gone, ENOENT also without /proc.
 */

/* Opens /proc, close-on-exec, as descriptor 3 or above. Comes before the first
 * fork(2). Returns 0, or -1 with errno. Where there is no /proc, returns 0, and
 * all functions below fail. */
int procfs_start(void);

/* The descriptor of procfs_start(), or -1. */
int procfs_fd(void);

/* This process's PID in that /proc; 0 without /proc, or where that /proc does
 * not have this process. */
pid_t procfs_self(void);

/* Whether the PIDs of /proc are those of this process's PID namespace: not
 * after "unshare --pid" without "--mount-proc". */
bool procfs_is_ours(void);

/* A list of PIDs. */
struct procfs_list {
	pid_t *pids;
	size_t size; /* of PIDS; what does not fit is left out */
	size_t count;
};

/* Adds all processes to LIST, by rising PIDs. Returns 0, or -1. */
int procfs_list_all(struct procfs_list *list);

/* Opens the directory of PID, close-on-exec. Returns DIR, or -1. */
int procfs_dir(pid_t pid);

/* Sends SIGNAL to the process of DIR. Returns 0, or -1 with errno as kill(2):
 * ESRCH if it is dead. */
int procfs_kill(int dir, int signal);

/* Adds the children of the process PID, of all its threads, whose directory is
 * DIR, to LIST, the eldest of a thread first. A list that is read while
 * processes come and go may miss some of them: proc(5). Returns 0, or -1:
 * ENOENT also where the kernel has no "children" files (CONFIG_PROC_CHILDREN).
 * Never waits for the process. */
int procfs_list_children(int dir, pid_t pid, struct procfs_list *list);

/* What the file "status" says. */
struct procfs_status {
	char state;
	bool is_dead; /* a zombie, with all its threads */
	pid_t parent;
	uid_t user; /* the real user ID */
};

/* Reads "status" in DIR, or of PID. Returns 0, or -1. Never waits for the
 * process. */
int procfs_status_of(int dir, struct procfs_status *status);
int procfs_read_status(pid_t pid, struct procfs_status *status);

/*
 * Whether a read of PID's files may block: PID is in state D. PID may be in
 * execve(2) and free its old memory, with exec_update_lock held in the kernel;
 * if a file system that does not answer has part of that memory, a read of
 * "stat", "io", "wchan", "syscall", "environ" or the links hangs for ever.
 * "status", "comm", "task" and "children" can always be read.
 */
bool procfs_may_block(pid_t pid);

/* Reads the start of PID's FILE into the SIZE bytes at TEXT, as a string.
 * Returns the length of the string, or -1. */
ssize_t procfs_read(pid_t pid, const char *file, char *text, size_t size);
