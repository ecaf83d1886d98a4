#pragma once

#include <stdint.h>
#include <sys/types.h>

struct strbuf;

/* Appends to LINE what socket INODE is, descriptor FD of process PID: " (TCP
 * 127.0.0.1:41000 -> 127.0.0.1:5432, established". Returns the inode of the
 * other end of a Unix socket, or 0: not known. Reads a table of PID's network
 * namespace, and costs the size of that table. */
uint64_t socketinfo_add(struct strbuf *line, pid_t pid, int fd, uint64_t inode);
