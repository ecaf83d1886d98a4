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

#define HELPER "supervisor-helper"

/* identify() of src/enrol.c takes a front that is dead for one in another PID
 * namespace: find_state() of src/record.c then never sees that it is dead, and
 * --reap leaves the run alone for ever. */
#define NO_FRONT "the front died just before the entry was written"

/* settle_for_supervisor() of src/front.c does not wait for the helper of
 * settle() that the supervisor has left, and which is about to die: it may
 * still hold the flock() of a --cleanup file, which lockfile_remove() then
 * takes for somebody else's; and it may outlive the front. */
#define TWO_HELPERS "the dead supervisor's helper is still at work"

/* do_in_time() of src/settle.c does not look how its helper has ended. */
#define HELPER_DEATH "a helper that was killed is taken for one that is done"

/* Where it cannot be told whose a file is, it has to stay. But is_ours() of
 * src/cleanup.c, lockfile_remove() and lockfile_release() do not say so. */
#define NOT_TOLD "whose file it is was not to be had, and nobody is told"

static const struct known known[] = {
	{ VERDICT_FILE, "", NULL, "KILL BOTH", "no front", NO_FRONT },
	{ VERDICT_LEAK, "", NULL, "KILL BOTH", "no front", NO_FRONT },
	{ VERDICT_FILE, "supervisor", NULL, "KILL", "'./C'", TWO_HELPERS },
	{ VERDICT_LEAK, "supervisor", NULL, "KILL", "is wd-stopping",
	  TWO_HELPERS },
	{ VERDICT_FILE, HELPER, NULL, "KILL", "'./C'", HELPER_DEATH },
	{ VERDICT_FILE, HELPER, NULL, "KILL", "'./D'", HELPER_DEATH },
	{ VERDICT_FILE, HELPER, NULL, "KILL", "'./L'", HELPER_DEATH },
	{ VERDICT_FILE, HELPER, NULL, "KILL", "'R/", HELPER_DEATH },
	{ VERDICT_FILE, HELPER, "statx", NULL, NULL, NOT_TOLD },
	{ VERDICT_FILE, HELPER, "fcntl", NULL, "'./D'", NOT_TOLD },
	{ VERDICT_FILE, HELPER, "pread64", NULL, "'./L'", NOT_TOLD },
	/* A process that it may not signal is alive, so this file stays. */
	{ VERDICT_FILE, HELPER, "kill", "EPERM", "'./C'", "as it should be" },
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
