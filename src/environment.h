#ifndef WDRUN_ENVIRONMENT_H
#define WDRUN_ENVIRONMENT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether PID was started with VARIABLE ("NAME=value") in its environment.
 * False where that is not ours to read. It is in the process's own memory, so
 * that this may have to wait, as procfs_add_command may.
 */
bool environment_has(pid_t pid, const char *variable);

#endif
