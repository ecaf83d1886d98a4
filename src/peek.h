#ifndef WDRUN_PEEK_H
#define WDRUN_PEEK_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to SIZE bytes of PID's memory from ADDRESS on, as far as there are
 * any. Returns how many, or -1 with errno. Waits for PID's mmap_lock: for ever,
 * if one of its threads hangs with it.
 */
ssize_t peek(pid_t pid, uint64_t address, void *data, size_t size);

#endif
