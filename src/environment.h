#ifndef WDRUN_ENVIRONMENT_H
#define WDRUN_ENVIRONMENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "runid.h"

/*
 * Whether PID was started with VARIABLE ("NAME=value") in its environment.
 * False where that is not ours to read. It is in the process's own memory, so
 * that this may have to wait, as procfs_add_command may.
 */
bool environment_has(pid_t pid, const char *variable);

/*
 * Reads into ID the value of WDRUN_ID with which PID was started: the first, if
 * there are more, as getenv(3) does. Returns true; or false, with ID empty,
 * where there is none, or one that is too long to be an ID, or where that is
 * not ours to read. May have to wait, as above. errno says why there is none: 0
 * where the environment was read, EAGAIN where it was empty, as it is also
 * within an execve(2), else that of open(2) or read(2).
 */
bool environment_read_id(pid_t pid, char id[RUNID_SIZE]);

#endif
