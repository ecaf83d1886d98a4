#ifndef GATED_H
#define GATED_H

#include <sys/types.h>

/* Forks a process that executes ARGV as soon as *GATE, a descriptor, is closed;
 * without a signal blocked, and with its output in the files "out" and "err".
 * Returns its PID. A failure ends this program. */
pid_t gated_start(char *const argv[], int *gate);

#endif
