/* Writes and reads the names of faults. */
#include <stdio.h>
#include <string.h>

#include "scenario.h"

const char *
fault_name(const struct fault *fault)
{
	switch (fault->kind) {
	case FAULT_NONE:
		return "none";
	case FAULT_ERROR:
		return strerrorname_np(fault->error);
	case FAULT_KILL:
		return "KILL";
	case FAULT_KILL_SOON:
		return "KILL SOON";
	case FAULT_KILL_BOTH:
		return "KILL BOTH";
	}
	return "?";
}

void
fault_write(const struct scenario *scenario, const struct fault *fault,
            char *text, size_t size)
{
	if (fault->kind == FAULT_NONE)
		(void)snprintf(text, size, "%s", scenario->name);
	else
		(void)snprintf(text, size, "%s:%s:%s#%d:%s", scenario->name,
		               fault->role, call_of(fault->call)->name,
		               fault->count, fault_name(fault));
}

static bool
read_kind(const char *text, struct fault *fault)
{
	fault->kind = FAULT_KILL;
	if (strcmp(text, "KILL") == 0)
		return true;
	fault->kind = FAULT_KILL_SOON;
	if (strcmp(text, "KILL SOON") == 0)
		return true;
	fault->kind = FAULT_KILL_BOTH;
	if (strcmp(text, "KILL BOTH") == 0)
		return true;
	fault->kind = FAULT_ERROR;
	for (fault->error = 1; fault->error < 200; fault->error++) {
		const char *name = strerrorname_np(fault->error);

		if (name != NULL && strcmp(name, text) == 0)
			return true;
	}
	return false;
}

const struct scenario *
fault_read(const char *text, struct fault *fault)
{
	char name[16];
	char call[40];
	char kind[16];
	const int fields = sscanf(text, "%15[^:]:%39[^:]:%39[^#]#%d:%15[^\n]",
	                          name, fault->role, call, &fault->count, kind);

	fault->kind = FAULT_NONE;
	if (fields == 5) {
		fault->call = call_number(call);
		if (fault->call == -1 || !read_kind(kind, fault))
			return NULL;
	} else if (fields != 1) {
		return NULL;
	}
	for (size_t i = 0; i < scenario_count; i++) {
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	}
	return NULL;
}
