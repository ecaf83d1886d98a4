#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/strbuf.h"

/* A file that is there whole or not at all. Both names are relative to
 * DIRECTORY_FD, as for openat(2), and are in the same directory. */
struct atomicfile {
	int directory_fd;
	const char *file;       /* an older file of this name is replaced */
	const char *unfinished; /* the name until the file is whole, which no
	                         * other process uses */
	mode_t mode;
	bool is_exact; /* MODE stands, whatever umask(2) says */
};

/* Writes LINE to such a FILE. A writer that gets SIGKILL may leave the
 * UNFINISHED file, which the next writer with this name removes. Returns 0, or
 * -1 with errno; then neither file is made. */
int atomicfile_write(const struct atomicfile *file, const struct strbuf *line);
