/* The ID of a run, in the environment of all its processes. */
#include "proc/runid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"

#define PATH_SIZE 32 /* of "/proc/4711/environ" */

static const char name[] = RUNID_VARIABLE "=";

/* Returns the IDs in PATH but the first, or NULL. */
static const char *
behind_slash(const char *path)
{
	const char *const slash = strchr(path, '/');

	return slash == NULL ? NULL : slash + 1;
}

void
runid_make(char variable[RUNID_PATH_SIZE], pid_t front)
{
	const char *outer = getenv(RUNID_VARIABLE);

	/* Not for ever longer where a job hands its work to its successor. */
	while (outer != NULL &&
	       strlen(outer) + sizeof(name) + RUNID_SIZE > RUNID_PATH_SIZE)
		outer = behind_slash(outer);
	if (outer == NULL)
		outer = "";
	(void)snprintf(variable, RUNID_PATH_SIZE, "%s%s%s%d-%llx", name, outer,
	               *outer == '\0' ? "" : "/", front,
	               (unsigned long long)duration_since_epoch());
}

const char *
runid_of(const char *variable)
{
	const char *const slash = strrchr(variable, '/');

	return slash == NULL ? variable + strlen(name) : slash + 1;
}

size_t
runid_length(const char *text)
{
	const size_t pid = strspn(text, "0123456789");
	const size_t start = pid == 0 || text[pid] != '-'
	                         ? 0
	                         : strspn(text + pid + 1, "0123456789abcdef");
	const size_t length = pid + 1 + start;

	return start == 0 || length >= RUNID_SIZE ? 0 : length;
}

/* Whether ID is one of the IDs in PATH. */
static bool
is_in(const char *path, const char *id)
{
	const size_t length = strlen(id);

	for (; path != NULL; path = behind_slash(path)) {
		if (strncmp(path, id, length) == 0 &&
		    (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

bool
runid_has(pid_t pid, const char *id)
{
	char path[PATH_SIZE];
	char *variable = NULL;
	size_t size = 0;
	bool is_found = false;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", pid);

	FILE *const environment = fopen(path, "re");

	if (environment == NULL)
		return false;
	/* The first of several counts, as for getenv(3). */
	while (!is_found && getdelim(&variable, &size, '\0', environment) > 0)
		is_found = strncmp(variable, name, strlen(name)) == 0;
	is_found = is_found && is_in(variable + strlen(name), id);
	free(variable);
	(void)fclose(environment);
	return is_found;
}
