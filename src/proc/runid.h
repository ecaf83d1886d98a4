#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The ID of a run: the PID of its front, "-", and the time of its start in
 * nanoseconds since the epoch, in hexadecimal. Each process of the run inherits
 * the ID in its environment, as WDRUN_ID. A run within a run has a path there,
 * OUTER/INNER, so that its processes are known as the outer run's, too.
 */
#define RUNID_VARIABLE  "WDRUN_ID"
#define RUNID_SIZE      48   /* of an ID, with its null byte */
#define RUNID_PATH_SIZE 1024 /* of the variable "WDRUN_ID=…" */

/* Writes "WDRUN_ID=OUTER/INNER" into VARIABLE: a new ID behind this process's
 * own path, if it has one. Of a path that is too long, the oldest IDs go. */
void runid_make(char variable[RUNID_PATH_SIZE], pid_t front);

/* Returns the run's own ID in a VARIABLE of runid_make(). */
const char *runid_of(const char *variable);

/* Returns the length of the ID at the start of TEXT; 0 if there is none. */
size_t runid_length(const char *text);

/* Whether PID was started with ID in its WDRUN_ID. False also for a moment
 * within execve(2). Waits for PID's mmap_lock, for ever where PID hangs with
 * that lock. */
bool runid_has(pid_t pid, const char *id);
