#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RUNID_VARIABLE "WDRUN_ID"
#define RUNID_SIZE     48 /* holds what runid_make writes */

/* Writes "WDRUN_ID=4711-1879ab…" into VARIABLE: the ID of a run is the PID of
 * its FRONT and the time now, in nanoseconds since the epoch. */
void runid_make(char variable[RUNID_SIZE], pid_t front);

/* The ID alone, in such a VARIABLE. */
const char *runid_of(const char *variable);

/* How many characters of TEXT, which begins with the ID of a run, the ID takes;
 * 0 if TEXT begins with none. */
size_t runid_length(const char *text);

/*
 * Reads into ID the value of WDRUN_ID with which PID was started: the first, if
 * there are several, as getenv(3) does. Returns true; or false, with ID empty,
 * where there is none, or one that is too long to be an ID, or where the
 * environment cannot be read. errno says why there is none: 0 where the
 * environment was read, EAGAIN where it was empty, as it is also within an
 * execve(2), else that of open(2) or read(2).
 *
 * The environment is in the process's own memory: errno is ETIMEDOUT where that
 * was waited for in vain, for a fifth of a second.
 */
bool runid_read(pid_t pid, char id[RUNID_SIZE]);
