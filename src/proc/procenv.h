#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "proc/runid.h"

/*
 * Reads into ID the value of WDRUN_ID with which PID was started: the first, if
 * there are several, as getenv(3) does. Returns true; or false, with ID empty,
 * where there is none, or one that is too long to be an ID, or where the
 * environment cannot be read. errno says why there is none: 0 where the
 * environment was read, EAGAIN where it was empty, as it is also within an
 * execve(2), else that of open(2) or read(2).
 *
 * The environment is in the process's own memory: as procfs_add_command() may,
 * this may have to wait for ever.
 */
bool procenv_read_runid(pid_t pid, char id[RUNID_SIZE]);
