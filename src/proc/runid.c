/* The ID of a run, which all its processes have in their environment. */
#include "proc/runid.h"

#include "base/duration.h"
#include "base/strbuf.h"

void
runid_make(char variable[RUNID_SIZE], pid_t front)
{
	(void)strbuf_format(variable, RUNID_SIZE, RUNID_VARIABLE "=%d-%llx",
	                    front, (unsigned long long)duration_since_epoch());
}

const char *
runid_of(const char *variable)
{
	return variable + sizeof(RUNID_VARIABLE "=") - 1;
}
