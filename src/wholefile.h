#ifndef WDRUN_WHOLEFILE_H
#define WDRUN_WHOLEFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "message.h"

/* A file that is there whole or not at all. All names are sought from
 * DIRECTORY_FD, as of openat(2). */
struct wholefile {
	int directory_fd;
	const char *directory;  /* that the file is in */
	const char *file;       /* an older one is replaced */
	const char *unfinished; /* its name until it is whole, of nobody else */
	mode_t mode;
	bool is_exact; /* the mode, whatever umask(2) says */
};

/*
 * Writes LINE to such a FILE. A SIGKILL at any moment but one between two
 * system calls leaves nothing unfinished, where the file system knows
 * O_TMPFILE; and an older unfinished one goes. Returns 0, or -1 with errno.
 */
int wholefile_write(const struct wholefile *file, const struct line *line);

#endif
