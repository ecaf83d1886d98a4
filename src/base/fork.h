#pragma once

#include <features.h>
#include <unistd.h>

/* As fork(2), by _Fork(3): a process with one thread does not need the handlers
 * and locks of fork(3), which cost system calls and a page or two that the
 * child has to copy. POSIX.1-2024, glibc since 2.34, musl since 1.2.2. */
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
