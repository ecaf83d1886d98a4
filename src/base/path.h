#pragma once

/* A path that must mean the same place later is kept as path_resolve() returns
 * it, and opened by path_open_directory(), which refuses a symbolic link that
 * has come since, and finds a directory that was made anew. */

/* Returns PATH as an absolute path without links, "." or ".." in the part that
 * exists before its last name, in memory that is never freed; or NULL with
 * errno of open(2). Slashes at the end of PATH do not count. */
const char *path_resolve(const char *path);

/* Opens the directory of PATH, of path_resolve(), with FLAGS: O_PATH or
 * O_RDONLY. Returns as open(2), with ELOOP at a symbolic link. */
int path_open_directory(const char *path, int flags);
