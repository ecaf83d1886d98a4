#pragma once

#include <features.h>
#include <unistd.h>

/* Like fork(2), by _Fork(3) (POSIX.1-2024, glibc 2.34, musl 1.2.2): a process
 * with one thread does not need the handlers and locks of fork(3), which cost
 * system calls and a page or two that the child has to copy. */
static inline pid_t
process_fork(void)
{
#ifdef __GLIBC__
#if !__GLIBC_PREREQ(2, 34)
#define _Fork fork
#endif
#endif
	return _Fork();
}
