#pragma once

#include <sys/types.h>

#include <stdint.h>

/* The identity of a process. PIDs are reused; a PID and the time of its start
 * stand for one process of one boot. */
struct procid {
	pid_t pid;      /* 0: no process */
	uint64_t start; /* clock ticks after boot, proc(5): starttime */
};

/* Reads the identity of the process PID. Returns 0, or -1 with errno of
 * procstat_read(). */
int procid_read(pid_t pid, struct procid *procid);

enum procid_state {
	PROCID_UNKNOWN,
	PROCID_ALIVE,
	PROCID_DEAD, /* or a zombie */
};

/* The state of this very process. PROCID_UNKNOWN, with errno, if the state
 * cannot be read: no descriptor is free, say, or /proc hides the process
 * ("hidepid", proc(5)), or the PID is 0: the process has no PID in this
 * namespace. */
enum procid_state procid_state_of(const struct procid *procid);

/* Sends SIGNAL to this very process, or to no process. Returns 0, or -1 with
 * errno: ESRCH if the process is dead. */
int procid_kill(const struct procid *procid, int signal);
