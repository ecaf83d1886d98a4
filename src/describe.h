#ifndef WDRUN_DESCRIBE_H
#define WDRUN_DESCRIBE_H

#include <stdbool.h>

#include "blocked.h"
#include "message.h"

/*
 * Appends to LINE what descriptor FD of PROCESS is: "fd 0 (pipe from 4711)".
 * With IN_PIPE the kernel was seen to wait for a pipe or FIFO on it, which
 * tells a FIFO from a file. Returns whether it is one of these. Waits for
 * nobody.
 */
bool describe_descriptor(struct line *line, const struct suspended *process,
                         int fd, bool in_pipe);

#endif
