/*
 * What the sweep finds, and is not mended, or not yet: it is counted, but does
 * not fail. Each has its reason. A NULL stands for any; ROLE is the start of a
 * role's name, TEXT is in what is found.
 */
#include "known.h"

#include <string.h>

struct known {
	enum verdict verdict;
	const char *role;
	const char *call;
	const char *fault; /* "EIO", "KILL" or "KILL BOTH" */
	const char *text;
	const char *reason;
};

static const struct known known[] = {
	/* A process that it may not signal is alive, so this file stays. */
	{ VERDICT_FILE, "supervisor-helper", "kill", "EPERM", "'./C'",
	  "as it should be" },
	{ VERDICT_COUNT, NULL, NULL, NULL, NULL, NULL }, /* the end */
};

static bool
fits(const char *pattern, const char *text)
{
	return pattern == NULL || strcmp(pattern, text) == 0;
}

bool
known_is(const struct fault *fault, enum verdict verdict, const char *what)
{
	if (fault->kind == FAULT_NONE)
		return false;
	for (const struct known *one = known; one->reason != NULL; one++) {
		if (one->verdict == verdict &&
		    strncmp(one->role, fault->role, strlen(one->role)) == 0 &&
		    fits(one->call, call_of(fault->call)->name) &&
		    fits(one->fault, fault_name(fault)) &&
		    (one->text == NULL || strstr(what, one->text) != NULL))
			return true;
	}
	return false;
}
