#ifndef WDRUN_DESCRIBE_H
#define WDRUN_DESCRIBE_H

#include <stdbool.h>

#include "blocked.h"
#include "message.h"

/*
 * Appends to LINE what descriptor FD of PROCESS is: "fd 0 (pipe from 4711)".
 * With IN_PIPE the kernel was seen to wait for a pipe or FIFO, so that a file
 * is looked at, which may be a FIFO. Returns whether it is one of these. Else
 * it waits for nobody.
 */
bool describe_descriptor(struct line *line, const struct suspended *process,
                         int fd, bool in_pipe);

#endif
