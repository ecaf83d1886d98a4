#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct strbuf;

/* /proc (proc(5)), opened once: whatever is mounted over it later, the
 * descriptor shows the same processes. A process is named by its PID in that
 * /proc; or for certain by DIR, a descriptor of its directory: once the process
 * is reaped, each call through DIR fails, whoever has the PID by then.
 * Functions return 0, a length, or a descriptor that is close-on-exec; or -1
 * with errno: ENOENT or ESRCH where the process is gone. */

/* The first opens /proc, the second returns its descriptor, or -1. Where there
 * is no /proc, or no file of it may be read, the first returns 0, and all
 * functions below fail. */
int procfs_start(void);
int procfs_fd(void);

/* This process's PID in that /proc; not getpid(2) where that is of another PID
 * namespace, as after "unshare --pid"; 0 where this process is not in it. */
pid_t procfs_self(void);

/* Whether that /proc has the PIDs of this process's PID namespace. */
bool procfs_is_ours(void);

/* The last PID that the kernel has given there; 0 if that is not known. */
pid_t procfs_last_pid(void);

/* Numbers in /proc; what does not fit is left out. */
#define PROCFS_LIST_MAX 32768

struct procfs_list {
	size_t count;
	int numbers[PROCFS_LIST_MAX]; /* pages that are not used cost nothing */
};

/* Lists the names that are numbers, in NAME of DIR or of PID; or nothing. */
void procfs_list_names(int dir, const char *name, struct procfs_list *list);
void procfs_list_of(pid_t pid, const char *name, struct procfs_list *list);

/* Lists the children of the process PID, whose directory is DIR: of each thread
 * the eldest first. May miss some while processes come and go. Never waits.
 * Without "children" files (CONFIG_PROC_CHILDREN) the call for this process
 * reads all of /proc, and calls for others answer from that. */
void procfs_list_children(int dir, pid_t pid, struct procfs_list *list);

/* Opens PID's directory; sends SIGNAL to the process of that. */
int procfs_dir(pid_t pid);
void procfs_kill(int dir, pid_t pid, int signal);

/* Reads the start of a file of /proc, whose path FORMAT and its arguments give,
 * into the SIZE bytes at TEXT, as a string. */
__attribute__((format(printf, 3, 4))) ssize_t
procfs_read(char *text, size_t size, const char *format, ...);

/* Returns what is behind NAME ("\nPPid:\t") in TEXT, a "status"; or "". No
 * process can forge a line: the kernel writes no newline of its name. */
const char *procfs_value(const char *text, const char *name);
uint64_t procfs_number(const char *text, const char *name); /* or 0 */

/* A supervisor in /proc/PID/comm: so "pkill wdrun" finds the front alone. */
#define SUPERVISOR_NAME     "wd-supervisor"
#define SUPERVISOR_STOPPED  "wd-supervisor T" /* as the target is */
#define SUPERVISOR_STOPPING "wd-supervisor E" /* it ends the run */

/* Whether PID's name begins with NAME: a supervisor's with SUPERVISOR_NAME. */
bool procfs_name_begins(pid_t pid, const char *name);

/* What is not known is 0. */
struct procstat {
	char state;
	bool is_dead;    /* a zombie, with all its threads */
	bool is_exiting; /* without memory or environment; or a kernel thread */
	/* It is in execve(2), with the kernel's exec_update_lock held. While
	 * that waits for a file system that does not answer, a read of "stat"
	 * (since 2026), "io", "wchan", "syscall", "environ" or the links hangs;
	 * not of "status", "comm", "task" or "children". */
	bool is_in_exec;
	bool is_traced;
	pid_t parent;
	uid_t user;      /* the real user ID */
	uint64_t caught; /* a bit for each signal that has a handler */
	int64_t memory;  /* KiB that are in memory */

	/* Only from procstat_read(): */
	pid_t session;
	int64_t cpu;    /* in nanoseconds, of reaped children too */
	uint64_t start; /* clock ticks after boot */
	/* By which it is stopped, since Linux 5.17, until its parent waits for
	 * the stop by waitpid(2) with WUNTRACED. */
	int stop_signal;
};

/* Fill *STAT for the process or thread PID. The first never waits; the second
 * waits a moment while PID is in execve(2), and fails if it still is. */
int procstat_read_status(pid_t pid, struct procstat *stat);
int procstat_read(pid_t pid, struct procstat *stat);

/* Fills STATE, PARENT and the last four from TEXT, a "stat" file. No errno. */
int procstat_parse(const char *text, struct procstat *stat);

/* How long ago the process of STAT was started, in nanoseconds. */
int64_t procstat_age(const struct procstat *stat);

/* Whether a read of PID's memory may hang: it is in execve(2), or has a thread
 * in state D, perhaps in a page fault with mmap_lock held: get_mm_cmdline(). */
bool procfs_is_stuck(pid_t pid);

/* Whether PID bears one of NAMES, separated by blanks: as its comm, cut to 15
 * bytes, or as the last part of its first word, or of its program's path, as
 * Node writes a title over the other two. */
bool procfs_bears(pid_t pid, const char *names);

/* Whether PID has the program of this process: another run's watcher. */
bool procfs_has_our_program(pid_t pid);

/* Whether PID is ANCESTOR, or descends from it, as far as /proc shows. */
bool procfs_descends(pid_t pid, pid_t ancestor);

/* A PID, which is reused, and its start stand for one process of one boot. */
struct procid {
	pid_t pid;      /* 0: no process, or none of this namespace */
	uint64_t start; /* as in struct procstat */
};

/* Reads that of PID; sends SIGNAL to this very process, or to no process. */
int procid_read(pid_t pid, struct procid *procid);
void procid_kill(const struct procid *procid, int signal);

/* Appends PID's command line to LINE, in quotes where a shell wants them,
 * without the program's directory, and shortened to WIDTH bytes; "[comm]" as
 * ps(1) if PID has none or is stuck, or if WIDTH is 0; "?" if PID is gone. */
void cmdline_add(struct strbuf *line, pid_t pid, int width);

/* The ID of a run: the PID of its front, "-", and its start in nanoseconds
 * since the epoch, in hexadecimal. Each process of the run inherits WDRUN_ID:
 * that, or in a run within a run a path, OUTER/INNER, of both runs. */
#define RUNID_VARIABLE  "WDRUN_ID"
#define RUNID_SIZE      48   /* of an ID, with its null byte */
#define RUNID_PATH_SIZE 1024 /* of the variable "WDRUN_ID=…" */

/* Makes a new ID, and VARIABLE, which has it behind this process's own path, if
 * there is one that is not too long. */
void runid_make(char id[RUNID_SIZE], char variable[RUNID_PATH_SIZE],
                pid_t front);
