#pragma once

#include <sys/syscall.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

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

/* Whether the process PID is dead: a zombie is. Never waits for PID. */
bool pid_is_dead(pid_t pid);

/* Sends SIGNAL to the process PID, also where a filter forbids kill(2) and not
 * pidfds. For children that are not reaped, whose number is their own. Returns
 * 0, or -1 with errno. */
int pid_kill(pid_t pid, int signal);

/* The numbers are the same on every architecture but alpha. */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* A pidfd, close-on-exec, for the process PID (Linux 5.3). Returns it, or -1
 * with errno of pidfd_open(2). */
static inline int
pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Sends SIGNAL to the process of the pidfd FD (Linux 5.1). Returns 0, or -1
 * with errno of pidfd_send_signal(2). */
static inline int
pidfd_send_signal(int fd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}
