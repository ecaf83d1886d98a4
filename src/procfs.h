#ifndef WDRUN_PROCFS_H
#define WDRUN_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "message.h"

/* What /proc/PID/stat says of a process, proc(5). */
struct procfs_stat {
	char state;
	pid_t parent;
	pid_t group;
	pid_t session;
	unsigned terminal;    /* its controlling terminal, as procfs_number */
	pid_t terminal_group; /* the foreground group of its terminal */
	long threads;         /* 0 once it is a zombie */
	uint64_t cpu;         /* clock ticks, with those of reaped children */
	uint64_t start;       /* clock ticks after boot */
};

/* The number by which a stat file names a terminal, DEVICE. */
unsigned procfs_number(dev_t device);

/*
 * Whether /proc is there and numbers processes as this process does. It need
 * not: "unshare --pid" without "--mount-proc" leaves the outer /proc in place,
 * whose PIDs mean other processes here. Reads one file. Returns 1 or 0, or -1
 * with errno where that cannot be told at the moment (ENOMEM, EMFILE…).
 */
int procfs_is_ours(void);

/* Reads TEXT, the LENGTH bytes of a stat file, into *STAT. Returns 0, or -1
 * with errno EINVAL where it is not one. */
int procfs_parse_stat(const char *text, struct procfs_stat *stat);

/* Reads /proc/PID/stat. Returns 0, or -1 with errno: ENOENT or ESRCH where PID
 * is gone. Never waits for PID, in whatever state that is. */
int procfs_read_stat(pid_t pid, struct procfs_stat *stat);

/*
 * Reads the start of /proc/PID/FILE into the SIZE bytes at TEXT, as a string.
 * Returns its length, or -1 with errno: ENOENT or ESRCH where PID is gone.
 */
ssize_t procfs_read(pid_t pid, const char *file, char *text, size_t size);

/* How long ago the process of STAT was started, in nanoseconds. */
int64_t procfs_age(const struct procfs_stat *stat);

/* Whether it was dead: a zombie is. */
bool procfs_is_dead(const struct procfs_stat *stat);

/* A number that changes when PID reads or writes (the counters of
 * /proc/PID/io); 0 where that is not ours to read. */
uint64_t procfs_read_io(pid_t pid);

/* Called for one PID. Returns 0 to go on, -1 (with errno) to end the walk, or
 * PROCFS_GONE where procfs_visit_all says so. */
typedef int procfs_visit(pid_t pid, void *context);

#define PROCFS_GONE 1

/*
 * Calls VISIT for each child of process PID, whichever of its THREADS made it.
 * Costs the number of children. Returns 0, or -1 with errno of VISIT or of
 * open(2): ENOENT also where the kernel has no "children" files
 * (CONFIG_PROC_CHILDREN) or PID is gone.
 *
 * A list read while processes come and go may miss some (proc(5)): callers
 * look again until nothing is left.
 */
int procfs_visit_children(pid_t pid, long threads, procfs_visit *visit,
                          void *context);

/*
 * Calls VISIT for each process there is, at the cost of the whole machine, by
 * rising PIDs. The list is read ahead of the calls: what VISIT finds dead may
 * have left a child behind it since. If it returns PROCFS_GONE, the list is
 * read anew from there on. Returns as above.
 */
int procfs_visit_all(procfs_visit *visit, void *context);

/* Calls VISIT for each thread of PID. Returns as above. */
int procfs_visit_threads(pid_t pid, procfs_visit *visit, void *context);

/*
 * Appends PID's command line to LINE, arguments parted by spaces and at most
 * WIDTH bytes of it; "[comm]" as ps(1) does where there is none, or where WIDTH
 * is 0; "?" where PID is gone. The arguments are in the process's own memory,
 * and whoever reads them waits for its mmap_lock (get_cmdline() in the kernel):
 * for ever, if one of its threads hangs with it. The name never has to be
 * waited for.
 */
void procfs_add_command(struct line *line, pid_t pid, int width);

#endif
