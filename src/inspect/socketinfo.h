#pragma once

#include <stdint.h>
#include <sys/types.h>

struct strbuf;

/*
 * Appends to LINE what descriptor FD of process PID, the socket INODE, is:
 * " (TCP 127.0.0.1:41000 -> 127.0.0.1:5432, established". Returns the inode of
 * the socket at the other end, if that is on this machine and known; else 0.
 * Reads a table of PID's network namespace, at the cost of its size.
 */
uint64_t socketinfo_add(struct strbuf *line, pid_t pid, int fd, uint64_t inode);
