#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

/* What the file "stat" of a process says: proc(5). */
struct procstat {
	char state;
	pid_t parent;
	pid_t session;
	uint64_t cpu;   /* clock ticks, of reaped children too */
	long threads;   /* 1 or 0 once the process is a zombie */
	uint64_t start; /* clock ticks after boot */
};

/* Reads TEXT, a stat file, into *STAT. Returns 0, or -1 with errno EINVAL. */
int procstat_parse(const char *text, struct procstat *stat);

/* Reads the file of PID. Returns 0, or -1 with errno: ENOENT or ESRCH if PID is
 * gone. May block as procfs_may_block(). */
int procstat_read(pid_t pid, struct procstat *stat);

/* TICKS of a stat file in nanoseconds. */
int64_t procstat_time(uint64_t ticks);

/* How long ago the process of STAT was started, in nanoseconds. */
int64_t procstat_age(const struct procstat *stat);

/* Whether the process of STAT was dead, a zombie included. */
bool procstat_is_dead(const struct procstat *stat);

/* The identity of a process. PIDs are reused; a PID and the time of its start
 * stand for one process of one boot. */
struct procid {
	pid_t pid;      /* 0: no process, or none of this namespace */
	uint64_t start; /* as in struct procstat */
};

/* Reads the identity of the process PID. Returns as procstat_read(). */
int procid_read(pid_t pid, struct procid *procid);

/* Whether this very process is alive, as far as /proc shows it to this user. */
bool procid_is_alive(const struct procid *procid);

/* Sends SIGNAL to this very process, or to no process. Returns 0, or -1 with
 * errno: ESRCH if the process is dead. */
int procid_kill(const struct procid *procid, int signal);
