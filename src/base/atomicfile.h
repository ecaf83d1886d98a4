#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* A file that other processes see complete or not at all. FILE and UNFINISHED
 * are in the same directory, relative to DIRECTORY_FD as for openat(2). */
struct atomicfile {
	int directory_fd;
	const char *file;       /* an existing file of this name is replaced */
	const char *unfinished; /* name during the writing; no other process may
	                         * use this name */
	mode_t mode;
	bool is_exact; /* umask(2) does not apply to MODE */
};

/* Writes LINE to FILE. A writer killed by SIGKILL may leave UNFINISHED, which
 * the next writer removes. Returns 0; or -1 with errno of the call that failed,
 * with FILE unchanged and UNFINISHED removed. */
int atomicfile_write(const struct atomicfile *file, const struct strbuf *line);
