#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens /proc, if its PIDs are those of this process's PID namespace. "unshare
 * --pid" without "--mount-proc" leaves the outer /proc in place, and a command
 * may mount the /proc of another namespace, whose PIDs mean other processes
 * here. The descriptor shows our namespace whatever is mounted later, and keeps
 * /proc busy: umount(2) fails. Returns the descriptor, close-on-exec, or -1
 * with errno: ENOENT if there is no such /proc.
 */
int procfs_open_root(void);

/* Whether /proc has the PIDs of this process's namespace. Returns 1 or 0, or -1
 * with errno if the answer is not known at the moment (ENOMEM, EMFILE…). */
int procfs_is_ours(void);

/*
 * Whether a read of PID's files may block: PID is in state D. PID may be in
 * execve(2) and free its old memory, with exec_update_lock held in the kernel;
 * if a file system that does not answer has part of that memory, a read of
 * "stat", "io", "wchan", "syscall", "environ" or the links hangs for ever.
 * "status", "comm", "task" and "children" can always be read.
 */
bool procfs_may_block(pid_t pid);

/* Whether PID computes, or waits for nothing but a processor: state R. */
bool procfs_is_runnable(pid_t pid);

/* Opens /proc/PID/FILE with FLAGS, close-on-exec. Returns a descriptor, or -1
 * with errno: ENOENT or ESRCH where PID is gone. */
int procfs_open(pid_t pid, const char *file, int flags);

/* Reads the start of /proc/PID/FILE into the SIZE bytes at TEXT, as a string.
 * Returns the length of the string, or -1 with errno as procfs_open(). */
ssize_t procfs_read(pid_t pid, const char *file, char *text, size_t size);

/* Returns what follows NAME ("Uid:\t") at the start of a line of TEXT, a file
 * such as "status", or NULL. Skips the first line, where "status" has the name
 * that the process chose. */
const char *procfs_find(const char *text, const char *name);

/* What /proc/PID/status says. */
struct procfs_status {
	char state;
	pid_t parent;
	pid_t tracer;     /* ptrace(2); 0: none, or none with a PID here */
	uid_t user;       /* the real user ID */
	uint64_t ignored; /* ignored signals: signal N is bit N - 1 */
};

/* Reads /proc/PID/status. Returns 0, or -1 with errno: ENOENT or ESRCH where
 * PID is gone. Never waits for PID. */
int procfs_read_status(pid_t pid, struct procfs_status *status);

/* Reads from /proc/PID/schedstat how long PID has used a processor, and has
 * waited for a processor, in nanoseconds; without the wait that PID is in.
 * Returns 0, or -1 where the kernel does not tell (CONFIG_SCHED_INFO). Never
 * waits for PID. */
int procfs_read_times(pid_t pid, int64_t *used, int64_t *waited);

/* The sum of the counters in /proc/PID/io, which changes when PID reads or
 * writes; 0 if this process may not read the file. May block as
 * procfs_may_block(). */
uint64_t procfs_read_io(pid_t pid);

/* Called for each PID. Returns 0 to go on, -1 (with errno) to end the walk, or
 * in procfs_visit_all() PROCFS_GONE. */
typedef int procfs_visit(pid_t pid, void *context);

#define PROCFS_GONE 1

#define PROCFS_DESCRIPTOR_SIZE 2048

/*
 * Calls VISIT for each child of PID, of all its threads, in the /proc that
 * PROC_FD is open on. Costs the number of children. A list that is read while
 * processes come and go may miss some processes: proc(5). Returns 0, or -1 with
 * errno of VISIT or of open(2): ENOENT also where the kernel has no "children"
 * files (CONFIG_PROC_CHILDREN) or PID is gone. Never waits for PID.
 */
int procfs_visit_children(int proc_fd, pid_t pid, procfs_visit *visit,
                          void *context);

/* Calls VISIT for each process of the machine, by rising PIDs. The list is read
 * ahead of the calls: if VISIT returns PROCFS_GONE, for a process that may have
 * left a child since, the list is read anew from that PID on. Returns as
 * procfs_visit_children(). */
int procfs_visit_all(procfs_visit *visit, void *context);

/* Calls VISIT for each thread of PID. Returns as procfs_visit_children(). */
int procfs_visit_threads(pid_t pid, procfs_visit *visit, void *context);

/* Calls VISIT for each descriptor of PID, with the descriptor instead of a PID.
 * Returns as procfs_visit_children(). */
int procfs_visit_descriptors(pid_t pid, procfs_visit *visit, void *context);

/* Reads /proc/PID/fdinfo/FD, with a row for each lock that FD holds, into TEXT.
 * Returns as procfs_read(). */
ssize_t procfs_read_descriptor(pid_t pid, int fd,
                               char text[PROCFS_DESCRIPTOR_SIZE]);

/* Reads up to SIZE bytes of PID's memory from ADDRESS on, as far as mapped.
 * Returns how many bytes, or -1 with errno. Waits as cmdline_add(). */
ssize_t procfs_read_memory(pid_t pid, uint64_t address, void *data,
                           size_t size);
