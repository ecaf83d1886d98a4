#pragma once

/* A callback for NAME. Returns 0 to continue, -1 (with errno) to stop, or
 * NAMES_AGAIN to read the directory again, beginning with NAME. */
typedef int names_visit(const char *name, void *context);

#define NAMES_AGAIN 1

/* Calls CALL for each name but "." and ".." in the directory that FD is open
 * on, from the position of FD on. Reads names ahead: a name may be gone when
 * CALL gets the name. Returns 0, or -1 with errno of CALL or getdents64(2). */
int names_read(int fd, names_visit *call, void *context);
