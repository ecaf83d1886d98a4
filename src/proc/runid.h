#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define RUNID_VARIABLE "WDRUN_ID"
#define RUNID_SIZE     48 /* of a variable, with its null byte */

/* Writes "WDRUN_ID=4711-1879ab…" into VARIABLE: the run's ID is the PID of the
 * FRONT and the time in nanoseconds since the epoch, in hexadecimal. */
void runid_make(char variable[RUNID_SIZE], pid_t front);

/* Returns the ID in a VARIABLE of runid_make(). */
const char *runid_of(const char *variable);

/* Returns the length of the run's ID at the start of TEXT; 0 if there is
 * none. */
size_t runid_length(const char *text);

/*
 * Reads into ID the value of WDRUN_ID with which PID was started: the first, if
 * there are several, as getenv(3) does. Returns true; or false, with ID empty
 * and errno: 0 if the environment has no WDRUN_ID or too long a value, EAGAIN
 * if the environment is empty, as also within execve(2), else the errno of
 * open(2) or read(2); ETIMEDOUT if the read, from the memory of PID, has
 * blocked for a fifth of a second.
 */
bool runid_read(pid_t pid, char id[RUNID_SIZE]);
