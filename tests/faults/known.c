/*
 * Findings of the sweep that are right as they are, or are not mended yet: they
 * are counted, and do not fail. Each has its reason. NULL stands for any value;
 * ROLE may lack the number of a helper; TEXT is a part of the finding.
 */
#include "known.h"

#include <ctype.h>
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
	{ VERDICT_FILE, "reaper-helper", "kill", "EPERM", "'./C'",
	  "as it should be" },
	{ VERDICT_FILE, "reaper-helper", "kill", "EPERM", "'./L'",
	  "as it should be" },
	/* No signal interrupts TIOCSCTTY, tiocsctty() in the kernel, which is
	 * the call that the start of a supervisor depends on. */
	{ VERDICT_STATUS, "supervisor", "ioctl", "EINTR", NULL,
	  "cannot happen" },
	/* The terminal of the command dies with its relay: so act, which cannot
	 * write, exits with 99. */
	{ VERDICT_STATUS, "front-helper", NULL, "KILL", "the status is 99",
	  "as it should be" },
	/* With --pty the supervisor leads the session of the terminal, whose
	 * foreground group gets SIGHUP when its leader dies: setsid(2). */
	{ VERDICT_STATUS, "supervisor", NULL, "KILL", "killed by SIGHUP",
	  "as it should be" },
	{ VERDICT_COUNT, NULL, NULL, NULL, NULL, NULL }, /* the end */
};

static bool
fits(const char *pattern, const char *text)
{
	return pattern == NULL || strcmp(pattern, text) == 0;
}

static bool
fits_role(const char *pattern, const char *role)
{
	const size_t length = strlen(pattern);

	return strncmp(pattern, role, length) == 0 &&
	       (role[length] == '\0' ||
	        (role[length] == '-' && isdigit(role[length + 1])));
}

bool
known_is(const struct fault *fault, enum verdict verdict, const char *what)
{
	if (fault->kind == FAULT_NONE)
		return false;
	for (const struct known *one = known; one->reason != NULL; one++) {
		if (one->verdict == verdict &&
		    fits_role(one->role, fault->role) &&
		    fits(one->call, call_of(fault->call)->name) &&
		    fits(one->fault, fault_name(fault)) &&
		    (one->text == NULL || strstr(what, one->text) != NULL))
			return true;
	}
	return false;
}
