#pragma once

#include <sys/types.h>

#include <stdint.h>

/* What makes a process recognisable. A PID alone is given away again; with the
 * moment of its start it stands for one process of one boot. */
struct procid {
	pid_t pid;      /* 0: no process */
	uint64_t start; /* clock ticks after boot, proc(5): starttime */
};

/* Reads who PID is now. Returns 0, or -1 with errno: ENOENT or ESRCH where PID
 * is gone, or there is no /proc. */
int procid_read(pid_t pid, struct procid *procid);

enum procid_state {
	PROCID_UNKNOWN,
	PROCID_ALIVE,
	PROCID_DEAD, /* or a zombie */
};

/* What became of this very process. PROCID_UNKNOWN, with errno, where that
 * cannot be seen: for want of descriptors, say, or since /proc hides the
 * process ("hidepid", proc(5)), or since it has no number here. */
enum procid_state procid_state_of(const struct procid *procid);

/* A pidfd, close-on-exec, for this very process. Returns it, or -1 with errno:
 * ESRCH where the process is dead. */
int procid_open(const struct procid *procid);

/* Sends SIGNAL to this very process, or to none. Returns 0, or -1 with errno:
 * ESRCH where the process is dead. */
int procid_kill(const struct procid *procid, int signal);
