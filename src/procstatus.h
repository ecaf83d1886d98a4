#ifndef WDRUN_PROCSTATUS_H
#define WDRUN_PROCSTATUS_H

#include <stdint.h>
#include <sys/types.h>

/* What /proc/PID/status says beyond the stat file, proc(5). */
struct procstatus {
	uid_t user;       /* the real one */
	uint64_t ignored; /* signal N is bit N - 1 */
};

/* Reads it. Returns 0, or -1 with errno: ENOENT or ESRCH where PID is gone.
 * Never waits for PID. */
int procstatus_read(pid_t pid, struct procstatus *status);

#endif
