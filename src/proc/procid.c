/* Recognising a process for certain, and signalling that process alone. */
#include "proc/procid.h"

#include <errno.h>
#include <signal.h>

#include "base/fds.h"
#include "proc/procfs.h"
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

/* First opens the directory, then checks: the directory stands for one process,
 * even after another process has got the PID. */
int
procid_kill(const struct procid *procid, int signal)
{
	const int dir = procid->pid > 0 ? procfs_dir(procid->pid) : -1;
	const enum procid_state state = procid_state_of(procid);
	int result = -1;

	if (dir != -1 && state == PROCID_ALIVE)
		result = procfs_kill(dir, signal);
	else if (state == PROCID_DEAD)
		errno = ESRCH;
	fds_close(dir);
	return result;
}
