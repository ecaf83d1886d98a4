#ifndef WDRUN_ABSPATH_H
#define WDRUN_ABSPATH_H

/*
 * PATH, which is relative to DIRECTORY unless it begins with '/', as it is
 * found from anywhere, without the "//", "/./" and last "/" that say nothing;
 * "..", and symbolic links, stay as they are. DIRECTORY is NULL where it is not
 * known. Returns the caller's own new string, or NULL with errno: that of
 * malloc(3), or what it was where DIRECTORY is needed and NULL.
 */
const char *abspath_make(const char *directory, const char *path);

#endif
