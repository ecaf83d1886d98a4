/* Recognising a process for certain, and signalling that process alone. */
#include "proc/procid.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/fds.h"
#include "proc/pidfd.h"
#include "proc/procstat.h"

int
procid_read(pid_t pid, struct procid *procid)
{
	struct procstat stat;

	if (procstat_read(pid, &stat) == -1)
		return -1;
	*procid = (struct procid){ pid, stat.start };
	return 0;
}

enum procid_state
procid_state_of(const struct procid *procid)
{
	struct procstat stat;

	if (procid->pid <= 0) {
		errno = ESRCH;
		return PROCID_UNKNOWN;
	}
	if (procstat_read(procid->pid, &stat) == 0)
		return stat.start == procid->start && !procstat_is_dead(&stat)
		           ? PROCID_ALIVE
		           : PROCID_DEAD;
	if ((errno == ENOENT || errno == ESRCH) && kill(procid->pid, 0) == -1 &&
	    errno == ESRCH)
		return PROCID_DEAD;
	return PROCID_UNKNOWN;
}

/* Returns 0 if this very process is alive, else -1 with errno: ESRCH if it is
 * dead. */
static int
check_alive(const struct procid *procid)
{
	const enum procid_state state = procid_state_of(procid);

	if (state == PROCID_DEAD)
		errno = ESRCH;
	return state == PROCID_ALIVE ? 0 : -1;
}

int
procid_open(const struct procid *procid)
{
	const int fd = procid->pid > 0 ? pidfd_open(procid->pid) : -1;

	if (procid->pid <= 0)
		errno = ESRCH;
	/* First open, then check: a pidfd stands for one process, even after
	 * another process has got the PID. */
	if (fd != -1 && check_alive(procid) == 0)
		return fd;
	fds_close(fd);
	return -1;
}

int
procid_kill(const struct procid *procid, int signal)
{
	const int fd = procid_open(procid);

	if (fd != -1) {
		const int result = pidfd_send_signal(fd, signal);

		fds_close(fd);
		if (result == 0 || errno == ESRCH || errno == EPERM)
			return result;
	} else if (errno == ESRCH) {
		return -1;
	}

	/* No pidfds in this kernel, or a filter forbids them: check just before
	 * the signal. The kernel gives a PID to a new process only when it has
	 * given away all other PIDs (alloc_pid()). */
	return check_alive(procid) == -1 ? -1 : kill(procid->pid, signal);
}
