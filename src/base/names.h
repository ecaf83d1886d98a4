#pragma once

/* Called for one name. Returns 0 to go on, -1 (with errno) to end the reading,
 * or NAMES_AGAIN to have the directory read anew from this name on. */
typedef int names_visit(const char *name, void *context);

#define NAMES_AGAIN 1

/* Calls CALL for each name but "." and ".." in the directory that FD is open
 * on, from the position of FD on. The names are read ahead of the calls.
 * Returns 0, or -1 with errno of CALL or getdents64(2). */
int names_read(int fd, names_visit *call, void *context);
