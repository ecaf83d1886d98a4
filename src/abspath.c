/* Paths that are found from anywhere. */
#include "abspath.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

/* Takes out of PATH, which is absolute, what says nothing: "//", "/./", and "/"
 * at its end, which would have a lock named "" in it. */
static void
simplify(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; from++) {
		if (from[0] == '/' && (from[1] == '/' || from[1] == '\0'))
			continue;
		if (from[0] == '/' && from[1] == '.' &&
		    (from[2] == '/' || from[2] == '\0')) {
			from++;
			continue;
		}
		*to++ = *from;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

const char *
abspath_make(const char *directory, const char *path)
{
	const bool is_absolute = *path == '/';

	if (!is_absolute && directory == NULL)
		return NULL;

	const size_t size =
	    (is_absolute ? 0 : strlen(directory) + 1) + strlen(path) + 1;
	char *const absolute = malloc(size);
	struct line line = { .text = absolute, .size = size };

	if (absolute == NULL)
		return NULL;
	if (!is_absolute)
		line_add(&line, "%s/", directory[1] == '\0' ? "" : directory);
	line_add(&line, "%s", path);
	simplify(absolute);
	return absolute;
}
